"""Data on which the range of wrong labels had never been looked at when it was frozen."""

from clean_sets import FEW, MANY, OVERLAP, TWO, Set, Table, bundled, encoded, known, table


def _coarse() -> Table:
    images, labels = known("cifar100-coarse")
    return encoded(images), labels


SETS = {
    one.name: one
    for one in (
        Set("iris", FEW, "4 numbers, 3 classes", bundled("iris")),
        Set("glass", FEW, "9 numbers, 6 classes", table("MASS/fgl", "type")),
        Set("shuttle", TWO, "categories, two classes by rules", table("MASS/shuttle", "use")),
        Set("pima", TWO, "7 numbers, two classes", table("MASS/Pima.te", "type")),
        Set("davis", TWO, "4 numbers, two classes", table("car/Davis", "sex")),
        Set("salaries", OVERLAP, "mixed types, 3 classes", table("car/Salaries", "rank")),
        Set("colon", TWO, "mixed types, two classes", table("survival/colon", "status", ("id",))),
        Set("liver", OVERLAP, "numbers, 3 classes", table("survival/pbc", "status", ("id",))),
        Set("fries", OVERLAP, "numbers, 3 classes", table("reshape2/french_fries", "treatment")),
        Set("counties", OVERLAP, "numbers, 3 classes", table("plm/Crime", "region")),
        Set("baseball", TWO, "mixed types, two classes", table("vcd/Baseball", "league87")),
        Set("houses", TWO, "mixed types, two classes", table("Ecdat/Housing", "airco")),
        Set("young", TWO, "numbers, two classes", table("Ecdat/Griliches", "rns")),
        Set("south", TWO, "mixed types, two classes", table("Ecdat/Schooling", "south76")),
        Set("children", TWO, "numbers, two classes", table("Ecdat/MedExp", "child")),
        Set("reasons", OVERLAP, "mixed types, 4 classes", table("Ecdat/Unemployment", "reason")),
        Set("travel", TWO, "numbers, two classes", table("Ecdat/ModeChoice", "mode")),
        Set("surgery", TWO, "numbers, two classes", table("COUNT/azpro", "procedure")),
        Set("breathing", TWO, "mixed types, two classes", table("HSAUR/respiratory", "outcome")),
        Set("moods", OVERLAP, "91 answers, ordinal, 4 classes", table("psych/msq", "energetic")),
        Set("cifar100", MANY, "frozen EfficientNet-Lite0 features, 20 classes", _coarse),
    )
}
