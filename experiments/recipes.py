"""The recipes of the paper's appendix C by name."""

from experiments.dris_internals import Recipe

PAPER_CIFAR_PROXY = Recipe(epochs=40, batch_size=128, learning_rate=0.05, scored_epoch=20)
PAPER_CIFAR_ATTACKER = Recipe(epochs=20, batch_size=128, learning_rate=0.05, scored_epoch=20)
PAPER_CIFAR10_TARGET = Recipe(epochs=160, batch_size=128, learning_rate=0.1)
PAPER_CIFAR100_TARGET = Recipe(epochs=200, batch_size=128, learning_rate=0.1)
PAPER_MNIST_PROXY = Recipe(epochs=10, batch_size=128, learning_rate=0.05, augment=False)
PAPER_FOOD_PROBE = Recipe(
    epochs=6, batch_size=4096, learning_rate=0.01, weight_decay=1e-4, scored_epoch=5, augment=False
)
PAPER_FOOD_TARGET_NATURAL = Recipe(epochs=50, batch_size=64, learning_rate=0.01, weight_decay=1e-4)
PAPER_FOOD_TARGET_ATTACKED = Recipe(epochs=25, batch_size=64, learning_rate=0.01, weight_decay=1e-4)
