"""How the weights of the offline judge are made: data, features, fit. Not part of the package."""
