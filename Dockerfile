# docker build --target base -t dris .        the command line, without torch
# docker build --target full -t dris:full .   with torch and the encoders of images and text
# docker run --rm -v "$PWD:/data" dris clean people.csv --label income
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir build==1.3.0 && python -m build --wheel --outdir /dist

FROM python:3.12-slim AS base
COPY --from=build /dist /dist
RUN pip install --no-cache-dir /dist/*.whl && useradd --create-home --uid 10001 dris
USER 10001
WORKDIR /data
ENTRYPOINT ["dris"]
CMD ["--help"]

FROM base AS full
USER 0
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3013
RUN wheel=$(echo /dist/*.whl) && pip install --no-cache-dir "${wheel}[torch,images,text]"
USER 10001
