"""Items of Xia, Harrison, Kalyanaraman, Ramachandran and Venkatesan, accumulation-based congestion control."""
