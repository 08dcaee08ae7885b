/// Which indexes a buffer keeps beside its order, by a scheme's wish. What nobody asks for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {}

impl Indexes {
    /// The order from head to tail alone.
    pub const NONE: Indexes = Indexes {};
}
