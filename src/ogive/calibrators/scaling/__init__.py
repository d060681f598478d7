"""Scaling of whole logit vectors: temperature, vector scaling, and matrices with ODIR."""
