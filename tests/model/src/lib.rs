//! The rules of delivery as a model, searched exhaustively.
