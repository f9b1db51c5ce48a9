package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// version2 makes a file of version 2.
func version2(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile("testdata/v2.sql")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, script(t, path, string(dump)))
	return path
}

func TestVersion2IsRead(t *testing.T) {
	path := version2(t)
	checkOld(t, open(t, sqlite.Config{Path: path}))
	checkOld(t, open(t, sqlite.Config{Path: path}))
}

func TestVersion2Resumes(t *testing.T) { checkOldResumes(t, open(t, sqlite.Config{Path: version2(t)})) }

func TestVersion2OpenedByMany(t *testing.T) {
	path := version2(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := sqlite.Open(path)
			if assert.NoError(t, err) {
				assert.NoError(t, s.Close())
			}
		})
	}
	all.Wait()
	checkOld(t, open(t, sqlite.Config{Path: path}))
}

// TestVersion2GetsTheTables compares the tables of an old file with those of a new one.
func TestVersion2GetsTheTables(t *testing.T) {
	tables := func(path string) []string {
		require.NoError(t, open(t, sqlite.Config{Path: path}).Close())
		return query(t, path, `SELECT m.type || ' ' || m.name || ' ' || coalesce(p.cid || ' ' || p.name || ' ' || p.type || ' ' || p."notnull" || ' ' || p.pk, '')
			FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) p UNION SELECT user_version FROM pragma_user_version ORDER BY 1`)
	}
	assert.Equal(t, tables(filepath.Join(t.TempDir(), "new.db")), tables(version2(t)))
}

// TestVersion2Damaged opens files with damage: it is found where it is, and nowhere else.
func TestVersion2Damaged(t *testing.T) {
	for name, damage := range map[string]string{
		"letter": "UPDATE letters SET data = '4' WHERE run = 'again'",
		"log":    "UPDATE log SET data = '{}' WHERE id = (SELECT no FROM runs WHERE run = 'again') << 32 | 5",
	} {
		t.Run(name, func(t *testing.T) {
			path := version2(t)
			require.NoError(t, script(t, path, damage))
			s := open(t, sqlite.Config{Path: path})
			failed := false
			for _, err := range s.Letters(t.Context(), "again") {
				failed = failed || errors.Is(err, runlog.ErrDamaged)
			}
			for _, err := range s.Records(t.Context(), "again", 0) {
				failed = failed || errors.Is(err, runlog.ErrDamaged)
			}
			assert.True(t, failed)
			for l, err := range s.Letters(t.Context(), "twice") {
				require.NoError(t, err)
				assert.Equal(t, 1, l.Round)
			}
		})
	}
}

// query returns the first column of the rows.
func query(t *testing.T, path, text string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), text)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var v string
		require.NoError(t, rows.Scan(&v))
		all = append(all, v)
	}
	require.NoError(t, rows.Err())
	return all
}

// order asks a clerk and then people. The runs in testdata are of this flow. A key that
// ends in ! has a time limit, and "late" in place of an answer.
var order = orchestrator.Flow[[]string, string]{Name: "order", Version: 2, Do: func(c *orchestrator.Context, keys []string) (string, error) {
	out, err := c.Call("clerk", agent.Request{Prompt: strings.Join(keys, ",")})
	text := out.Text
	for i := 0; i < len(keys) && err == nil; i++ {
		var v string
		key, limited := strings.CutSuffix(keys[i], "!")
		q := orchestrator.Question{Key: key, Text: "Which " + keys[i] + "?"}
		switch {
		case limited:
			q.Timeout = time.Millisecond
			if v, err = orchestrator.Await[string](c, q); errors.Is(err, orchestrator.ErrTimeout) {
				v, err = "late", nil
			}
		case key == "size":
			q.Text = "How many?"
			var n int
			n, err = orchestrator.Await[int](c, q)
			v = strings.Repeat("I", n)
		default:
			v, err = orchestrator.Await[string](c, q)
		}
		text += " " + v
	}
	return text, err
}}

// checkOld checks what a store has of the runs in testdata.
func checkOld(t *testing.T, s interface {
	runlog.Store
	runlog.Inbox
	runlog.Blobs
},
) {
	t.Helper()
	var lengths, letters []string
	for l, err := range s.List(t.Context(), runlog.Query{Label: "kind=fixture"}) {
		require.NoError(t, err)
		lengths = append(lengths, fmt.Sprint(l.Run, " ", l.Next))
		n := int64(0)
		for r, err := range s.Records(t.Context(), l.Run, 0) {
			require.NoError(t, err)
			require.Equal(t, n, r.Seq)
			n++
		}
		assert.Equal(t, l.Next, n)
		for data, err := range s.BlobsOf(t.Context(), l.Run) {
			require.NoError(t, err)
			assert.Contains(t, string(data), "{")
		}
	}
	slices.Sort(lengths)
	assert.Equal(t, []string{"again 6", "done 3", "early 3", "stop 3", "twice 5", "waits 3"}, lengths)
	for l, err := range s.Letters(t.Context(), "") {
		require.NoError(t, err)
		letters = append(letters, fmt.Sprintf("%s %q %d %v %s", l.Run, l.Key, l.Round, l.Expired, l.Data))
		require.ErrorIs(t, s.Put(t.Context(), l), runlog.ErrConflict, "its address is used")
	}
	assert.Equal(t, []string{
		`again "size" 1 false 3`, `early "shape" 0 false "round"`, `stop "" 0 false "not needed"`, `twice "color" 1 false "green"`,
	}, letters)
}

// checkOldResumes resumes the runs in testdata, and answers what they still ask.
func checkOldResumes(t *testing.T, s interface {
	runlog.Store
	runlog.Inbox
},
) {
	t.Helper()
	e, err := orchestrator.NewLocal(orchestrator.Config{Store: s, Requests: orchestrator.Requests{Record: true}, Flows: []orchestrator.AnyFlow{order}, Agents: agent.Roster{
		"clerk": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			t.Error("a call on record is made again")
			return agent.Response{}, nil
		}),
	}})
	require.NoError(t, err)
	_, err = e.Resume(t.Context())
	require.NoError(t, err)
	open := func(id string) *orchestrator.Run {
		r, err := e.Open(t.Context(), id)
		require.NoError(t, err)
		return r
	}
	require.NoError(t, open("waits").Answer(t.Context(), "color", "blue"))
	require.NoError(t, open("waits").AnswerWith(t.Context(), "shape", "square", orchestrator.AnswerOptions{Early: true}))
	require.NoError(t, open("early").AnswerWith(t.Context(), "color", "red", orchestrator.AnswerOptions{Early: true}))
	require.ErrorIs(t, open("again").Answer(t.Context(), "color", "blue"), orchestrator.ErrAnswered)
	for id, want := range map[string]string{
		"done":  strings.Repeat("A long answer. ", 20),
		"waits": "I asked for color,shape: blue square",
		"early": "I asked for color,shape: red round",
		"again": "I asked for color,size: red III",
		"twice": "I asked for color!,color: late green",
	} {
		got, err := order.Result(t.Context(), open(id))
		require.NoError(t, err, id)
		assert.Equal(t, want, got, id)
	}
	_, err = order.Result(t.Context(), open("stop"))
	require.ErrorContains(t, err, "not needed")
	require.NoError(t, e.Close(t.Context()))
	for l, err := range s.Letters(t.Context(), "") {
		require.NoError(t, err)
		assert.Empty(t, l, "all are taken")
	}
}
