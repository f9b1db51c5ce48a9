package postgres

import (
	"context"
	"iter"
)

// Records and lists are read in pages. The first is small, for callers that want
// only a few.
const (
	firstPage = 32
	mostRows  = 2048
	fewRows   = 8
	pageBytes = 4 << 20 // about as many in a page
)

// page is a part of what a sequence yields.
type page[T any] struct {
	last  *T  // last value of the page before; nil: this page is the first
	limit int // most rows to read

	vs    []T
	bytes int
}

// add adds a row of that many bytes.
func (p *page[T]) add(v T, bytes int) {
	p.vs = append(p.vs, v)
	p.bytes += bytes
}

// next is the page after p. Its limit follows from the size of the rows of p.
func (p *page[T]) next() page[T] {
	n := len(p.vs)
	last := p.vs[n-1]
	return page[T]{last: &last, limit: min(mostRows, max(fewRows, pageBytes/(1+p.bytes/n))), vs: p.vs[:0]}
}

// pages yields the values page by page. No connection is in use while it yields. limit is
// how many the caller wants, 0 or less for all: a page has no more.
func pages[T any](limit int, read func(*page[T]) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := page[T]{limit: firstPage}
		if limit > 0 {
			p.limit = min(limit, mostRows)
		}
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
			if len(p.vs) < p.limit {
				return
			}
			if p = p.next(); limit > 0 {
				p.limit = min(p.limit, limit)
			}
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
