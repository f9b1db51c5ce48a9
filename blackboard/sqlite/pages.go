package sqlite

import (
	"io"
	"iter"
)

// What is read comes in pages. The first is small, for callers that want only a few.
const (
	firstPage = 32
	nextPages = 512
	maxBytes  = 4 << 20 // about as many in a page
)

// pages yields at most limit values, or all for 0, one page after the other. Nothing
// is open or locked meanwhile. read reads those behind the last one, which is nil at
// first, and calls add with each and its size, until that returns [io.EOF] for enough.
func pages[T any](limit int, read func(last *T, add func(v T, bytes int) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		var page []T
		n := 0
		for room, full := firstPage, true; full; room = nextPages {
			page, full = page[:0], false
			size := 0
			err := read(last, func(v T, bytes int) error {
				page = append(page, v)
				size += bytes
				if full = len(page) >= room || size >= maxBytes; full {
					return io.EOF
				}
				return nil
			})
			for i := range page {
				if n++; !yield(page[i], nil) || n == limit {
					return
				}
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			if full {
				v := page[len(page)-1]
				last = &v
			}
		}
	}
}
