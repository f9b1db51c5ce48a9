package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver that Convene uses
)

// limits is the work without a library: a goroutine and a channel for a call, an
// errgroup, an INSERT.
var limits = library{
	name: "limit",
	chain: func(n int, takes time.Duration) (once, error) {
		return func(ctx context.Context) error { return inTurn(ctx, n, takes) }, nil
	},
	models: func(n int, takes time.Duration) (once, error) {
		return func(ctx context.Context) error { return inTurn(ctx, n, takes) }, nil
	},
	fanOut: func(n int, takes time.Duration) (once, error) {
		return func(ctx context.Context) error {
			g, ctx := errgroup.WithContext(ctx)
			for range n {
				g.Go(func() error { return answer(ctx, takes) })
			}
			return g.Wait()
		}, nil
	},
	loop: func(rounds int) (once, error) {
		return func(ctx context.Context) error { return inTurn(ctx, 2*rounds, 0) }, nil
	},
	dag: func(needs [][]int) (once, error) {
		return func(ctx context.Context) error {
			for begin := 0; begin < len(needs); begin += layer {
				g, ctx := errgroup.WithContext(ctx)
				g.SetLimit(8)
				for range layer {
					g.Go(func() error { return answer(ctx, 0) })
				}
				if err := g.Wait(); err != nil {
					return err
				}
			}
			return nil
		}, nil
	},
	memory: func(n int) variant {
		return repeat("limit", func(context.Context) error {
			var log [][]byte
			for range n {
				log = append(log, []byte(kilobyte))
			}
			runtime.KeepAlive(log)
			return nil
		})
	},
	sqlite: func(n int, dir string) (once, error) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		if _, err := db.Exec(`CREATE TABLE log(id INTEGER PRIMARY KEY, data TEXT)`); err != nil {
			return nil, err
		}
		stmt, err := db.Prepare(`INSERT INTO log(data) VALUES(?)`)
		return func(ctx context.Context) error {
			for range n {
				if _, err := stmt.ExecContext(ctx, kilobyte); err != nil {
					return err
				}
			}
			return nil
		}, err
	},
}

func inTurn(ctx context.Context, n int, takes time.Duration) error {
	for range n {
		done := make(chan error)
		go func() { done <- answer(ctx, takes) }()
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}
