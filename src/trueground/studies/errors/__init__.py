"""Why correct answers have a low F1: the error categories of Adlakha et al. 2023, section 4.2."""
