// Sealing
