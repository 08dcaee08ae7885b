use schemars::Schema;
use serde::Serialize;

use crate::SpecError;

/// Description of a component (scheme, congestion control, rate adaptation, …), shown by `wifair schemes` and in the docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// The name used in scenarios.
    pub name: &'static str,
    /// Where it was published: paper and section, RFC, revision of a code base.
    pub source: &'static str,
    /// What it does, in at most three lines.
    pub idea: &'static str,
}

/// A registered component.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentInfo {
    /// Name, source, idea.
    #[serde(flatten)]
    pub info: Info,
    /// JSON schema of its parameters, with their descriptions and defaults.
    pub parameters: Schema,
}

/// What the parameters of a component are if they have no `validate` for themselves: valid whenever their types are.
#[doc(hidden)]
pub trait AlwaysValid {
    fn validate(&self, _path: &str) -> Result<(), SpecError> {
        Ok(())
    }
}

impl<T> AlwaysValid for T {}

/// Declares a registry of components, one line per component: its module, and the variant of the enum `$spec`, which is also
/// the name of the component's type.
///
/// The module exports
/// - `INFO`, an [`Info`](crate::Info);
/// - `Spec`, the parameters: `Default`, `Clone`, `Debug`, `PartialEq`, serde, `JsonSchema`; `validate(&self, path)`, which
///   returns a [`SpecError`](crate::SpecError), if the types do not say everything; and `build`, which creates the component;
/// - the component.
///
/// The macro declares the modules and the enum of the specs, with `all`, `components`, `name` and `validate`. Scenarios select
/// a variant by `name` (the variant in kebab case, or as given by `#[serde(rename)]`). A variant `and unlisted` is created
/// elsewhere and appears neither in the list nor in the schema.
///
/// `matched by each` defines a macro: `each!(Enum: value, component => expression)` matches `value`, an enum with these
/// variants, with the same expression in every arm; further arms may follow. `run as enum Control` defines an enum of the
/// components themselves and `build`, for components that are called too often for a trait object.
#[macro_export]
macro_rules! registry {
    // `$d` is a dollar sign, for the macro that this one defines.
    (
        @ ($d:tt) $(#[$doc:meta])* $spec:ident, matched by $each:ident
            $(, run as enum $run:ident)?
            $(, and unlisted $name:literal as $unlisted:ident($elsewhere:ty))?;
        $($(#[$attribute:meta])* $variant:ident => $module:ident),+ $(,)?
    ) => {
        $(pub mod $module;)+

        #[allow(unused_macros)]
        macro_rules! $each {
            ($d enum:ident: $d value:expr, $d component:ident => $d body:expr $d (, $d more:pat => $d other:expr)*) => {
                match $d value {
                    $($d enum::$variant($d component) => $d body,)+
                    $d ($d more => $d other,)*
                }
            };
        }

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum $spec {
            $(
                $(#[$attribute])*
                #[allow(missing_docs)] // each component's file says what it is
                #[schemars(description = $module::INFO.idea)]
                $variant($module::Spec),
            )+
            $(
                #[allow(missing_docs)]
                #[schemars(skip)]
                $unlisted($elsewhere),
            )?
        }

        impl $spec {
            /// Returns all components with default parameters, in the order of the registry.
            pub fn all() -> Vec<$spec> {
                vec![$($spec::$variant(Default::default())),+]
            }

            /// Returns the descriptions of all components, in the order of the registry.
            pub fn components() -> Vec<$crate::ComponentInfo> {
                vec![$($crate::ComponentInfo {
                    info: $module::INFO,
                    parameters: schemars::schema_for!($module::Spec),
                }),+]
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $($spec::$variant(_) => $module::INFO.name,)+
                    $($spec::$unlisted(_) => $name,)?
                }
            }

            /// Checks what the types cannot. `path` is the component's key in the plan.
            pub fn validate(&self, path: &str) -> Result<(), $crate::SpecError> {
                #[allow(unused_imports)]
                use $crate::AlwaysValid as _;
                match self {
                    $($spec::$variant(spec) => spec.validate(path),)+
                    $($spec::$unlisted(spec) => spec.validate(path),)?
                }
            }
        }

        $crate::registry! { @run $spec $($run)?; $($variant => $module),+ }
    };
    (@run $spec:ident; $($lines:tt)+) => {};
    (@run $spec:ident $run:ident; $($variant:ident => $module:ident),+) => {
        /// One of the components. An enum rather than a trait object: no allocation, no pointer to follow.
        #[derive(Clone, Debug)]
        pub(crate) enum $run {
            $($variant($module::$variant)),+
        }

        impl $spec {
            /// The component, at its beginning.
            pub(crate) fn build(&self) -> $run {
                match self { $($spec::$variant(spec) => $run::$variant(spec.build())),+ }
            }
        }
    };
    ($($lines:tt)+) => {
        $crate::registry! { @ ($) $($lines)+ }
    };
}
