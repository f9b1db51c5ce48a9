package runlog

// As returns s as a T, an optional interface such as [Owners]: s itself, or the first of
// the stores that it wraps which is a T. A store that wraps another one says so by a
// method
//
//	Unwrap() runlog.Store
//
// Engines find all optional interfaces by As. So a wrapper that embeds a Store and has
// Unwrap keeps them, and one without Unwrap hides them: engines then work as on a store
// that lacks them.
//
// The methods of [Store] are called on the outermost store: its Append sees all records,
// its Records and List yield what engines read. An interface that As finds inside bypasses
// the wrapper. That is right for a wrapper that counts, measures or delays. One that
// changes what is stored, such as one that encrypts Data or hides runs, must implement
// each interface that carries the same data: [Questions] yields records, [Inbox] and
// [Blobs] keep answers and large Data, [Owners] lists runs, [Deleter] deletes them. Where
// it cannot, it has no Unwrap and embeds the interfaces that it keeps:
//
//	struct {
//		runlog.Store  // the wrapper
//		runlog.Owners // of the store inside
//	}
func As[T any](s Store) (face T, ok bool) {
	for s != nil {
		if face, ok = s.(T); ok {
			return face, true
		}
		wrapper, wraps := s.(interface{ Unwrap() Store })
		if !wraps {
			break
		}
		s = wrapper.Unwrap()
	}
	return face, false
}
