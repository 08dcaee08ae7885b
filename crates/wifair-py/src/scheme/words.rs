//! The enums of a decision in Python, and their counterparts in the engine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// How to pickle an object: a function and its arguments (Python's `object.__reduce__`).
type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// An enum of Python whose members are those of an enum of the engine.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident of $engine:ty { $($(#[$member_doc:meta])* $member:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[pyclass(module = "wifair.scheme", frozen, eq, hash, from_py_object, rename_all = "SCREAMING_SNAKE_CASE")]
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$member_doc])* $member),+
        }

        #[pymethods]
        impl $name {
            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
                let member = slf.as_any().repr()?.to_string();
                let name = member.rsplit('.').next().unwrap_or_default().to_string();
                let get = slf.py().import("builtins")?.getattr("getattr")?;
                Ok((get, (slf.as_any().get_type().into_any(), name).into_pyobject(slf.py())?))
            }
        }

        impl From<$name> for $engine {
            fn from(word: $name) -> $engine {
                match word {
                    $($name::$member => <$engine>::$member),+
                }
            }
        }

        impl From<$engine> for $name {
            fn from(word: $engine) -> $name {
                match word {
                    $(<$engine>::$member => $name::$member),+
                }
            }
        }
    };
}

words! {
    /// The kind of a packet, as an access point can determine it without state.
    Kind of wifair_core::Class {
        /// A TCP segment with payload: at the access point of a downlink flow.
        Data,
        /// A pure TCP ACK: at the access point of an uplink flow.
        Ack,
        /// SYN, FIN or RST without payload, and everything that is not TCP.
        Other,
    }
}

words! {
    /// A set of queued packets from which a scheme picks.
    Pool of wifair_queue::Pool {
        /// Every packet of kind DATA.
        Data,
        /// Every packet of kind ACK.
        Ack,
        /// The redundant ones among the ACKs.
        Redundant,
        /// The data packets that their senders have not marked as high priority.
        LowPriorityData,
    }
}

words! {
    /// Which packet of a pool goes.
    Pick of wifair_queue::Pick {
        /// The one nearest to the head.
        Oldest,
        /// The one nearest to the tail.
        Newest,
        /// Any, with equal probability: one draw from the transmit queue's stream, none while the pool is empty.
        Random,
    }
}

words! {
    /// What makes a queued ACK redundant.
    Filter of wifair_queue::Filter {
        /// A later ACK of its connection is there.
        Paper,
        /// Only what carries no information that a later ACK lacks.
        Safe,
    }
}

words! {
    /// Why a queued packet is evicted; each reason has a separate counter.
    Eviction of wifair_queue::Eviction {
        /// A later ACK carries the same information: filtered, which is not a loss.
        Redundant,
        /// Evicted to make room.
        Victim,
        /// Dropped as a congestion signal.
        Aqm,
    }
}

words! {
    /// Why an arrival is refused; each reason has a separate counter.
    Refusal of wifair_queue::Refusal {
        /// There is no room.
        TailDrop,
        /// Dropped as a congestion signal.
        Aqm,
    }
}

words! {
    /// What becomes of a packet from a station.
    PoliceAction of wifair_queue::PoliceAction {
        /// It is forwarded unchanged.
        Forward,
        /// It is forwarded with CE if it has an ECT code point (RFC 3168), else unchanged.
        Mark,
        /// It is dropped.
        Drop,
    }
}

words! {
    /// Direction of a packet that passes the access point.
    Direction of wifair_queue::Direction {
        /// From a station.
        Up,
        /// To a station.
        Down,
    }
}

/// The indexes that a buffer keeps in addition to its order, as requested by a scheme. Indexes that are not requested have no
/// cost.
#[pyclass(module = "wifair.scheme", frozen)]
pub struct Indexes {
    pub wanted: wifair_queue::Indexes,
    /// The object and the method with arguments that created this one.
    origin: Option<(Py<Indexes>, &'static str, Py<PyTuple>)>,
}

impl Indexes {
    fn with<'py>(
        slf: &Bound<'py, Self>,
        wanted: wifair_queue::Indexes,
        method: &'static str,
        arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
    ) -> PyResult<Indexes> {
        let arguments = arguments.into_pyobject(slf.py()).map_err(Into::into)?.unbind();
        Ok(Indexes { wanted, origin: Some((slf.clone().unbind(), method, arguments)) })
    }
}

#[pymethods]
impl Indexes {
    #[new]
    fn new() -> Indexes {
        Indexes { wanted: wifair_queue::Indexes::NONE, origin: None }
    }

    /// Allows picks from a pool: `Buffer.pick`.
    fn picking(slf: &Bound<'_, Self>, pool: Pool, pick: Pick) -> PyResult<Indexes> {
        if pool == Pool::Redundant {
            return Err(PyValueError::new_err("for Pool.REDUNDANT say redundant(filter, pick)"));
        }
        Indexes::with(slf, slf.get().wanted.picking(pool.into(), pick.into()), "picking", (pool, pick))
    }

    /// Keeps the order of ACKs within each flow: `Buffer.superseded_by`.
    fn acks(slf: &Bound<'_, Self>, filter: Filter) -> PyResult<Indexes> {
        Indexes::with(slf, slf.get().wanted.acks(filter.into()), "acks", (filter,))
    }

    /// Allows picks from the redundant ACKs: `Buffer.pick_redundant`.
    fn redundant(slf: &Bound<'_, Self>, filter: Filter, pick: Pick) -> PyResult<Indexes> {
        let wanted = slf.get().wanted.redundant(filter.into(), pick.into());
        Indexes::with(slf, wanted, "redundant", (filter, pick))
    }

    /// Counts stored packets by flow and kind: `Buffer.stored_packets`, `Buffer.stored_flows`.
    fn stored_flows(slf: &Bound<'_, Self>) -> PyResult<Indexes> {
        Indexes::with(slf, slf.get().wanted.stored_flows(), "stored_flows", PyTuple::empty(slf.py()))
    }

    /// Keeps an order by keys, assigned to each packet on arrival: `Buffer.append(arrival, key=…)`.
    fn keyed(slf: &Bound<'_, Self>) -> PyResult<Indexes> {
        Indexes::with(slf, slf.get().wanted.keyed(), "keyed", PyTuple::empty(slf.py()))
    }

    /// Keeps queues, each in order of arrival: `Buffer.append_to`, `Buffer.first_of` and so on.
    fn queues(slf: &Bound<'_, Self>) -> PyResult<Indexes> {
        Indexes::with(slf, slf.get().wanted.queues(), "queues", PyTuple::empty(slf.py()))
    }

    fn __eq__(&self, other: &Indexes) -> bool {
        self.wanted == other.wanted
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let py = slf.py();
        let Some((before, method, arguments)) = &slf.get().origin else {
            return Ok((slf.as_any().get_type().into_any(), PyTuple::empty(py)));
        };
        let caller = py.import("operator")?.getattr("methodcaller")?;
        let named = PyTuple::new(py, [method])?.add(arguments.bind(py))?.cast_into::<PyTuple>()?;
        Ok((caller.call1(named)?, PyTuple::new(py, [before])?))
    }
}
