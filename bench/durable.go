package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the bare INSERT goes through the same driver

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// durable is an engine on a SQLite file of its own.
type durable struct {
	dir   string
	store *sqlite.Store
	eng   *orchestrator.Engine
}

func openDurable(sync sqlite.Sync, a agent.Agent) (*durable, error) {
	dir, err := os.MkdirTemp("", "convene-bench")
	if err != nil {
		return nil, err
	}
	d := &durable{dir: dir}
	if d.store, err = d.open(sync); err != nil {
		return nil, err
	}
	d.eng, err = engineOf(a, d.store)
	return d, err
}

// open opens the file again, as another process would.
func (d *durable) open(sync sqlite.Sync) (*sqlite.Store, error) {
	return sqlite.New(sqlite.Config{Path: filepath.Join(d.dir, "log.db"), Sync: sync})
}

func (d *durable) close() error {
	return errors.Join(d.eng.Close(context.Background()), d.store.Close(), os.RemoveAll(d.dir))
}

// bareTable is what the engine is compared with: one prepared INSERT of the same
// row, into a table without look-ups.
type bareTable struct {
	db   *sql.DB
	stmt *sql.Stmt
	data string
	run  int64
}

func openBare(dir, pragma string) (*bareTable, error) {
	path := filepath.Join(dir, "bare.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+pragma+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, `CREATE TABLE log(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, n INTEGER, name TEXT, hash TEXT, at INTEGER NOT NULL, data TEXT)`); err != nil {
		return nil, err
	}
	stmt, err := db.PrepareContext(ctx, `INSERT INTO log(id, kind, n, name, hash, at, data) VALUES(?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(engine.CalledData{Response: &agent.Response{Text: text, Usage: providers.Usage{Calls: 1}, Elapsed: time.Microsecond}})
	return &bareTable{db: db, stmt: stmt, data: string(data)}, err
}

func (b *bareTable) insert(n int64) sample {
	hash, at := strings.Repeat("0f", 16), time.Now().UnixNano()
	return func() (time.Duration, error) {
		b.run++
		return timed(func() error {
			for seq := range n {
				if _, err := b.stmt.ExecContext(context.Background(), b.run<<32|seq, runlog.Called, seq, "a", hash, at, b.data); err != nil {
					return err
				}
			}
			return nil
		})()
	}
}

func (b *bareTable) close() error { return errors.Join(b.stmt.Close(), b.db.Close()) }
