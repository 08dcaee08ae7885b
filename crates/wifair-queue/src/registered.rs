//! How components are listed by name.

use schemars::Schema;
use serde::Serialize;
use wifair_core::Info;

/// What a component says about itself.
#[derive(Clone, Debug, Serialize)]
pub struct ComponentInfo {
    /// Name, source, idea.
    #[serde(flatten)]
    pub info: Info,
    /// JSON schema of its parameters, with their descriptions and defaults.
    pub parameters: Schema,
}

/// A registry: the modules, one line each, the enum of their parameters by name, and the list of them. A variant
/// `and unlisted` is made elsewhere, and neither the list nor the schema knows of it.
macro_rules! registry {
    (
        $(#[$doc:meta])*
        $spec:ident of $component:ty, listed by $list:ident
            $(, and unlisted $name:literal as $unlisted:ident($elsewhere:ty))?;
        $($variant:ident => $module:ident),+ $(,)?
    ) => {
        $(mod $module;)+

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum $spec {
            $(
                #[allow(missing_docs)] // each component's file says what it is
                $variant($module::Spec),
            )+
            $(
                #[allow(missing_docs)]
                #[schemars(skip)]
                $unlisted($elsewhere),
            )?
        }

        impl $spec {
            /// The component, at its beginning.
            pub fn build(&self) -> Box<$component> {
                match self {
                    $($spec::$variant(spec) => Box::new(spec.build()),)+
                    $($spec::$unlisted(spec) => spec.build(),)?
                }
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $($spec::$variant(_) => $module::INFO.name,)+
                    $($spec::$unlisted(_) => $name,)?
                }
            }

            /// Checks the values; `path` is where the component stands in the plan.
            pub fn validate(&self, path: &str) -> Result<(), wifair_core::SpecError> {
                match self {
                    $($spec::$variant(spec) => spec.validate(path),)+
                    $($spec::$unlisted(spec) => spec.validate(path),)?
                }
            }
        }

        /// Every one of them, in the order of the registry.
        pub fn $list() -> Vec<$crate::ComponentInfo> {
            vec![$($crate::ComponentInfo {
                info: $module::INFO,
                parameters: schemars::schema_for!($module::Spec),
            }),+]
        }
    };
}
pub(crate) use registry;
