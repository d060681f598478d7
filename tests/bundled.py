"""The real model outputs that come with the package: they need no other download."""

from importlib.resources import files

DEMO = str(files("ogive") / "data" / "fmnist_lenet5.npz")  # LeNet-5 on Fashion-MNIST
