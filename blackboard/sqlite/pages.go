package sqlite

import (
	"context"
	"io"
	"iter"
	"strconv"
)

// Records and lists are read in pages. The first is small, for callers that want
// only a few.
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

// add adds a row of that many bytes. It returns [io.EOF] if there is no room for
// more.
func (p *page[T]) add(v T, bytes int) error {
	p.vs = append(p.vs, v)
	if p.bytes += bytes; p.bytes >= maxBytes {
		return io.EOF
	}
	return nil
}

// pages yields the values of one page after the other. Nothing is open or locked
// while it yields: read has closed its rows.
func pages[T any](read func(*page[T]) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := page[T]{limit: firstPage}
		for {
			err := read(&p)
			for _, v := range p.vs {
				if !yield(v, nil) {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			n := len(p.vs)
			if n < p.limit && p.bytes < maxBytes {
				return
			}
			last := p.vs[n-1]
			p = page[T]{last: &last, limit: nextPages, vs: p.vs[:0]}
		}
	}
}

// collected yields what take returns, and the error of ctx as soon as it is done.
func collected[T any](ctx context.Context, take func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		vs, err := take()
		for _, v := range vs {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
