"""The data sets of experiments/studies/ranges.py, in three parts.

*Aside* was kept aside until the range of wrong labels was frozen for good; on *before* it had been
frozen before, and looked at. *Large* are those of clean_sets.py with 4,000 rows or more,
with all that `split` leaves them; of each 1,500 rows had been looked at.
"""

from dataclasses import replace

from experiments.studies import clean_sets
from experiments.studies.clean_sets import (
    FEW,
    MANY,
    OVERLAP,
    TWO,
    Set,
    Table,
    bundled,
    encoded,
    known,
    table,
)


def _coarse() -> Table:
    images, labels = known("cifar100-coarse")
    return encoded(images), labels


def _fine() -> Table:
    images, labels = known("cifar100")
    return encoded(images), labels


_FIRST = (  # first looked at with 5e25b66
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
    Set(
        "baseball",
        TWO,
        "mixed types, two classes",
        table("vcd/Baseball", "league87", ("name1", "name2")),
    ),
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
_SECOND = (  # with 0b52e26
    Set("parks", TWO, "mixed types, two classes", table("Ecdat/Kakadu", "envcon")),
    Set("women", TWO, "numbers, two classes", table("Ecdat/Participation", "lfp")),
    Set("tobacco", OVERLAP, "mixed types, 3 classes", table("Ecdat/Tobacco", "occupation")),
    Set("spells", TWO, "mixed types, two classes", table("Ecdat/UnempDur", "ui")),
    Set("insured", TWO, "mixed types, two classes", table("Ecdat/VietNamI", "insurance")),
    Set("jewels", OVERLAP, "mixed types, 5 classes", table("Ecdat/Diamond", "clarity")),
    Set("majors", OVERLAP, "mixed types, 5 classes", table("Ecdat/Mathlevel", "major")),
    Set("patents", TWO, "numbers, two classes", table("Ecdat/PatentsHGH", "scisect")),
    Set("hospital", OVERLAP, "numbers, 3 classes", table("COUNT/medpar", "type")),
    Set("at-home", TWO, "numbers, two classes", table("COUNT/rwm1984", "outwork")),
    Set("visits", OVERLAP, "numbers, 3 classes", table("COUNT/mdvis", "educ")),
    Set("infections", OVERLAP, "mixed types, 3 classes", table("KMsurv/std", "condom")),
    Set("nursing", OVERLAP, "numbers, 3 classes", table("KMsurv/bfeed", "race")),
    Set("hearing", OVERLAP, "mixed types, 3 classes", table("MASS/OME", "OME")),
    Set("students", TWO, "mixed types, two classes", table("MASS/survey", "Sex")),
    Set("melanoma", OVERLAP, "numbers, 3 classes", table("MASS/Melanoma", "status")),
    Set("drive", OVERLAP, "mixed types, 3 classes", table("ggplot2/mpg", "drv")),
    Set("refugees", TWO, "categories, two classes", table("car/Greene", "decision")),
    Set("tongues", OVERLAP, "mixed types, 3 classes", table("car/SLID", "language")),
    Set("turnout-2", TWO, "numbers, two classes", table("Zelig/voteincome", "vote")),
    Set(
        "commons",
        TWO,
        "numbers, two classes",
        table("pscl/UKHouseOfCommons", "coninc", ("constituency",)),
    ),
    Set("parents", TWO, "mixed types, two classes", table("HistData/PearsonLee", "par")),
    Set("fertility", TWO, "mixed types, two classes", table("datasets/infert", "case")),
    Set("cifar100-fine", MANY, "the same features, 100 classes", _fine, train=4_000),
)
_THIRD = (  # with 57e31a2
    Set("lungs", TWO, "numbers, two classes", table("survival/lung", "sex")),
    Set("gammopathy", TWO, "mixed types, two classes", table("survival/mgus", "death", ("id",))),
    Set("relapse", TWO, "numbers, two classes", table("quantreg/uis", "CENSOR", ("ID",))),
    Set("tests", TWO, "numbers, two classes", table("psych/sat.act", "gender")),
    Set("films", OVERLAP, "numbers, 4 classes", table("psych/affect", "Film")),
    Set("kidneys", TWO, "numbers, two classes", table("KMsurv/kidtran", "delta")),
    Set("regions", OVERLAP, "numbers, 4 classes", table("KMsurv/pneumon", "region")),
    Set("residents", TWO, "numbers, two classes", table("KMsurv/channing", "gender")),
    Set("parkinson", TWO, "mixed types, two classes", table("gap/PD", "pd")),
    Set("crohn", TWO, "markers, two classes", table("gap/crohn", "crohn", ("id",))),
    Set("schools", TWO, "mixed types, two classes", table("MASS/nlschools", "COMB", ("class",))),
    Set("specimens", OVERLAP, "mixed types, 7 classes", table("MASS/coop", "Spc")),
    Set("ticks", OVERLAP, "numbers, 3 classes", table("lme4/grouseticks", "YEAR", ("INDEX",))),
    Set("solder", OVERLAP, "mixed types, 4 classes", table("rpart/solder", "Mask")),
    Set("pigs", OVERLAP, "mixed types, 3 classes", table("geepack/dietox", "Evit")),
    Set("affairs", TWO, "numbers, two classes", table("COUNT/affairs", "kids")),
    Set("trips", OVERLAP, "numbers, 3 classes", table("COUNT/loomis", "travel")),
    Set("hearts", TWO, "numbers, two classes", table("COUNT/azcabgptca", "procedure")),
    Set("districts", TWO, "mixed types, two classes", table("Ecdat/Caschool", "grspan")),
    Set("bids", OVERLAP, "mixed types, 4 classes", table("Ecdat/NaturalPark", "answers")),
    Set("skiers", TWO, "mixed types, two classes", table("Ecdat/Somerville", "ski")),
    Set("towns", OVERLAP, "numbers, 5 classes", table("Ecdat/BudgetFood", "town")),
    Set("partners", OVERLAP, "mixed types, 3 classes", table("car/Womenlf", "partic")),
    Set("meals", TWO, "mixed types, two classes", table("reshape2/tips", "time")),
    Set("vignettes", OVERLAP, "mixed types, 3 classes", table("Zelig/free1", "country")),
    Set("votes", OVERLAP, "answers, 4 classes", table("sem/CNES", "MBSA2")),
)
_FOURTH = (  # with d07976e
    Set("cabinets", TWO, "numbers, two classes", table("Zelig/coalition", "invest")),
    Set("migrants", TWO, "numbers, two classes", table("Zelig/immigration", "gender")),
    Set("drug", OVERLAP, "mixed types, 4 classes", table("texmex/liver", "dose")),
    Set("speeds", TWO, "numbers, two classes", table("boot/amis", "warning")),
    Set("volunteers", TWO, "mixed types, two classes", table("car/Cowles", "volunteer")),
    Set("boards", OVERLAP, "mixed types, 4 classes", table("car/Ornstein", "nation")),
    Set("families", TWO, "mixed types, two classes", table("Ecdat/Fair", "child")),
    Set("chemists", TWO, "mixed types, two classes", table("pscl/bioChemists", "fem")),
    Set("states", TWO, "mixed types, two classes", table("pscl/presidentialElections", "south")),
    Set("lectures", TWO, "numbers, two classes", table("lme4/InstEval", "service")),
    Set("answers", TWO, "56 answers, two classes", table("psych/epi", "V1")),
    Set("genes", TWO, "mixed types, two classes", table("gap/mao", "type", ("id",))),
    Set("nephritis", TWO, "markers, two classes", table("gap/nep499", "status", ("id",))),
    Set("bladder", TWO, "numbers, two classes", table("survival/bladder", "event", ("id",))),
    Set("immunity", TWO, "mixed types, two classes", table("survival/cgd", "inherit", ("id",))),
    Set("weekdays", OVERLAP, "numbers, 5 classes", table("Ecdat/Garch", "day")),
    Set("friends", TWO, "mixed types, two classes", table("Ecdat/FriendFoe", "play")),
    Set("warmth", OVERLAP, "numbers, 6 classes", table("Ecdat/HC", "income")),
    Set("wards", TWO, "numbers, two classes", table("COUNT/azdrg112", "type1")),
    Set("bacteria", TWO, "mixed types, two classes", table("MASS/bacteria", "y", ("ID",))),
)
_LARGE = (
    *("banking77", "benefits", "cars", "cifar10", "class-size", "computers", "diamonds"),
    *("disability", "elderly", "fashion-mnist", "flchain", "food101", "health", "insurance"),
    *("ketchup", "mnist", "movies", "schooling", "sms-spam", "tumours", "tuna", "union"),
    *("verbagg", "vietnam", "wages", "wives"),
)
PARTS = {
    "aside": _FOURTH,
    "before": (*_FIRST, *_SECOND, *_THIRD),
    "large": tuple(replace(clean_sets.SETS[name], train=clean_sets.POOL) for name in _LARGE),
}
SETS = {one.name: one for part in PARTS.values() for one in part}
