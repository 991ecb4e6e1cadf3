"""What people look at: terminal pages now, one self-contained HTML page later."""
