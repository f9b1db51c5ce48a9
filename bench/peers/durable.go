package main

import (
	"context"
	"fmt"
	"os"
)

// sqliteSteps makes each variant a database of its own, in a folder that is removed
// when the sample is over.
func sqliteSteps(n int) ([]variant, error) {
	var vs []variant
	for _, l := range libraries {
		if l.sqlite == nil {
			continue
		}
		vs = append(vs, variant{name: l.name, build: func(times int) (func(context.Context) error, error) {
			dir, err := os.MkdirTemp("", "convene-peers")
			if err != nil {
				return nil, err
			}
			do, err := l.sqlite(n, dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			again, err := repeat(l.name, do).build(times)
			return func(ctx context.Context) error {
				defer func() { _ = os.RemoveAll(dir) }()
				return again(ctx)
			}, err
		}})
	}
	return vs, nil
}
