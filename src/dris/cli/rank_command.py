"""`dris rank`: rank variance of more examples than fit into memory."""

from pathlib import Path
from typing import Annotated

import typer

from dris.cli import data_options as o
from dris.cli.data_options import again, engine_of, flag, names_in, option
from dris.cli.output import Output


def rank(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARDS", hidden=True)],
    out: o.Out = Path("dris-ranks"),
    losses: Annotated[
        str | None, option("A,B", "Loss columns [loss_0,loss_1,... or vectors in losses].")
    ] = None,
    id: Annotated[str | None, option("COLUMN", "Ids [id, else row numbers].")] = None,
    exact: Annotated[bool, flag("--exact", "Sort on disk: as in memory, bit for bit.")] = False,
    bits: Annotated[int, option("B", "2^B cells: no rank is off by over 2^(7-B).")] = 22,
    keep: Annotated[float | None, option("SHARE", "Also write the ids of the highest.")] = None,
    seed: o.Seed = 0,
    workers: o.Workers = None,
    engine: o.EngineName = "local",
    address: o.Address = None,
    cpus: o.Cpus = 1,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Rank variance and mean rank of losses in Parquet shards, in constant memory.

    SHARDS are files, a pattern in quotes or a folder: a loss of each example from each proxy.
    Writes scores-00000.parquet, ... and says how far a score may be off the exact one; with --keep
    kept-00000.parquet, ... as well. Killed, the same command goes on where it was.
    Example: dris rank "losses/*.parquet" --keep 0.25 --out ranks
    """
    from dris.learn.engines.processes import bar
    from dris.learn.ranking.rank_shards import rank_shards

    output = Output(as_json=as_json)
    try:
        with bar("ranking") as progress:
            done = rank_shards(
                shards,
                out,
                id=id,
                losses=names_in(losses),
                exact=exact,
                bits=bits,
                keep=keep,
                seed=seed,
                force=force,
                workers=workers,
                engine=engine_of(engine, address, cpus, 0),
                progress=progress,
            )
    except KeyboardInterrupt:
        output.note(f"what is finished is kept in {out}; to go on: {again()}")
        raise
    output.say(
        f"{done.examples:,} examples, {done.proxies} proxies, read {done.passes} times: "
        f"{len(done.scores)} shards of scores in {out}"
    )
    output.say(
        "ranks and rank variances are exact"
        if done.variance_error == 0
        else f"ranks are off by at most {max(done.rank_errors):.2g}, rank variances by at most "
        f"{done.variance_error:.2g} (for dris certify: --rank-error {done.rank_error:.3g})"
    )
    if done.kept is not None:
        ties = f", {done.kept.tied:,} of them drawn among equals" if done.kept.tied else ""
        output.say(f"kept {done.kept.count:,}, rank variance {done.kept.cut:.4g} and up{ties}")
    output.result({"command": "rank", **done.to_dict()})
