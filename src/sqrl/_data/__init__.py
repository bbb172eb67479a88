"""Tables: columns, file formats, draws of rows, and files written whole or not at all."""
