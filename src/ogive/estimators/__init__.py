"""The scikit-learn face: parameters stored untouched, learned state ends in _, work delegated."""
