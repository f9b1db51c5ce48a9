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

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// kilobyte answers with 1 kB of text.
var kilobyte = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Text: text}, nil
})

var text = string(make1kB())

func make1kB() []byte {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

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
	if d.store, err = sqlite.New(sqlite.Config{Path: filepath.Join(dir, "log.db"), Sync: sync}); err != nil {
		return nil, err
	}
	d.eng, err = orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"nop": a}, Store: d.store})
	return d, err
}

func (d *durable) close() error {
	return errors.Join(d.eng.Close(context.Background()), d.store.Close(), os.RemoveAll(d.dir))
}

// recorded is W5: a call whose answer is on record, beside a bare INSERT of the same
// row at the same sync setting.
func recorded(t *table) error {
	for _, s := range []struct {
		name   string
		sync   sqlite.Sync
		pragma string
	}{{"NORMAL", sqlite.Normal, "NORMAL"}, {"FULL", sqlite.Full, "FULL"}} {
		if err := steps(t, s.name, s.sync, s.pragma); err != nil {
			return err
		}
	}
	return nil
}

func steps(t *table, name string, sync sqlite.Sync, pragma string) error {
	d, err := openDurable(sync, kilobyte)
	if err != nil {
		return err
	}
	b, err := openBare(d.dir, pragma)
	if err != nil {
		return err
	}
	f := chain()
	ours := func(in shape, n int) sample {
		return func() (time.Duration, error) { return timed(func() error { return runs(d.eng, f, in, n) }) }
	}
	const n = 1000
	p, err := compare(t.samples, n, ours(shape{Calls: n}, 1), func() (time.Duration, error) { return b.insert(n) })
	if err != nil {
		return err
	}
	t.atMost("W5 a recorded step, SQLite "+name+", 1 branch: bare INSERT", p, 1.5)

	p, err = compare(t.samples, n, ours(shape{Calls: n}, 1), ours(shape{Calls: 10}, n/10))
	if err != nil {
		return err
	}
	t.atMost("W5 a step of 1,000 in a run, SQLite "+name+": a step of 10", p, 1.1)

	if sync == sqlite.Full {
		wide := shape{Branches: 256, Calls: 20}
		p, err = compare(t.samples, 1, ours(shape{Calls: 500}, 1), ours(wide, 1))
		if err != nil {
			return err
		}
		t.atLeast("W5 calls/s of 256 branches, SQLite FULL: of 1 branch", p.ratio*256*20/500, 10, " x")
	}
	return errors.Join(b.close(), d.close())
}

// bareTable is what the engine is measured against: one prepared INSERT of the same
// row, into a table that nothing has to be looked up for.
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

func (b *bareTable) insert(n int64) (time.Duration, error) {
	b.run++
	hash, at := strings.Repeat("0f", 16), time.Now().UnixNano()
	return timed(func() error {
		for seq := range n {
			if _, err := b.stmt.ExecContext(context.Background(), b.run<<32|seq, blackboard.Called, seq, "nop", hash, at, b.data); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bareTable) close() error { return errors.Join(b.stmt.Close(), b.db.Close()) }

// replays is how many records of a log a second a resumed run gets through, reading
// and matching included.
func replays(t *table) error {
	d, err := openDurable(sqlite.Normal, nop)
	if err != nil {
		return err
	}
	f := chain()
	const n = 20_000
	ctx := context.Background()
	in := shape{Branches: 16, Calls: n / 16}
	if _, err := f.Start(ctx, d.eng, in, orchestrator.StartOptions{ID: "replay"}); err != nil {
		return err
	}
	run, err := d.eng.Open(ctx, "replay")
	if err != nil {
		return err
	}
	if err := run.Wait(ctx); err != nil {
		return err
	}
	var took []time.Duration
	for range t.samples {
		d, err := take(func() (time.Duration, error) { return replayOnce(d.store, f, in) })
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	t.atLeast("records/s replayed from SQLite", n/median(took).Seconds(), 300_000, "")
	return d.close()
}

// replayOnce resumes the run as if it had not ended, and lets it end again.
func replayOnce(s *sqlite.Store, f orchestrator.Flow[shape, int], in shape) (time.Duration, error) {
	ctx := context.Background()
	e, err := orchestrator.NewLocal(orchestrator.Config{Agents: agent.Roster{"nop": nop}, Store: endless{s}})
	if err != nil {
		return 0, err
	}
	took, err := timed(func() error {
		run, err := f.Start(ctx, e, in, orchestrator.StartOptions{ID: "replay"})
		if err != nil {
			return err
		}
		return run.Wait(ctx)
	})
	return took, errors.Join(err, e.Close(ctx))
}
