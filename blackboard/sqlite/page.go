package sqlite

import (
	"iter"
	"strconv"
)

// Rows are read in pages. The first is small, for callers that want only a few.
const (
	firstPage = 32
	nextPages = 512
	maxBytes  = 4 << 20 // about as many in a page
)

// page is a part of what a sequence yields.
type page[T any] struct {
	last  *T  // of the page before, nil at the beginning
	limit int // of rows

	vs    []T
	bytes int
}

// limited is sql for the rows of a page. A limit as a parameter would have SQLite
// prepare the statement anew for each.
func (p *page[T]) limited(sql string) string { return sql + " LIMIT " + strconv.Itoa(p.limit) }

// add adds a row of that many bytes and says whether there is room for more.
func (p *page[T]) add(v T, bytes int) bool {
	p.vs = append(p.vs, v)
	p.bytes += bytes
	return p.bytes < maxBytes
}

// pages yields the values of one page after the other. Nothing is open or locked
// while it yields: read has closed its rows.
func pages[T any](read func(*page[T]) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last T
		p := page[T]{limit: firstPage}
		for {
			p.vs, p.bytes = p.vs[:0], 0
			if err := read(&p); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, v := range p.vs {
				if !yield(v, nil) {
					return
				}
			}
			n := len(p.vs)
			if n < p.limit && p.bytes < maxBytes {
				return
			}
			last = p.vs[n-1]
			p.last, p.limit = &last, nextPages
		}
	}
}
