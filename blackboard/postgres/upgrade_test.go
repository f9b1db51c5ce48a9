package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/postgres"
	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// version1 makes a database with tables of version 1, and returns a store's Config for it.
func version1(t *testing.T, name string) postgres.Config {
	t.Helper()
	dump, err := os.ReadFile("testdata/v1.sql")
	require.NoError(t, err)
	_, err = pool(t, dsn(t)).Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	p := pool(t, dsn(t)+" dbname="+name)
	_, err = p.Exec(t.Context(), string(dump), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return postgres.Config{Pool: p}
}

func TestVersion1IsRead(t *testing.T) {
	cfg := version1(t, "reads")
	checkOld(t, open(t, cfg))
	checkOld(t, open(t, cfg))
}

func TestVersion1Resumes(t *testing.T) { checkOldResumes(t, open(t, version1(t, "resumes"))) }

// TestVersion1Fails runs what programs of version 1 run that are still up when the tables
// change. They may append to logs; what needs letters must fail.
func TestVersion1Fails(t *testing.T) {
	cfg := version1(t, "fails")
	open(t, cfg)
	for sql, table := range map[string]string{
		"SELECT run, key, expired, data, sum FROM convene.letters JOIN convene.runs USING (no) ORDER BY id":                                       "letters",
		"DELETE FROM convene.letters l USING convene.runs r WHERE l.no = r.no AND r.run = ANY('{again}')":                                         "letters",
		"WITH run AS (UPDATE convene.runs SET rev = rev + 1 WHERE run = 'waits' RETURNING no) INSERT INTO convene.letters(no) SELECT no FROM run": "",
	} {
		_, err := cfg.Pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "does not exist")
		require.ErrorContains(t, err, table)
	}
	var oldest int
	require.NoError(t, cfg.Pool.QueryRow(t.Context(), "SELECT oldest FROM convene.versions ORDER BY version DESC LIMIT 1").Scan(&oldest))
	assert.Equal(t, 3, oldest, "programs of versions 1 and 2 refuse to start")
}

// TestVersion1Damaged opens tables with a damaged letter: only that letter stays damaged.
func TestVersion1Damaged(t *testing.T) {
	cfg := version1(t, "damaged")
	_, err := cfg.Pool.Exec(t.Context(), "UPDATE convene.letters SET data = '4' WHERE key = 'size'")
	require.NoError(t, err)
	s := open(t, cfg)
	for _, err := range s.Letters(t.Context(), "again") {
		require.ErrorIs(t, err, runlog.ErrDamaged)
	}
	for l, err := range s.Letters(t.Context(), "twice") {
		require.NoError(t, err)
		assert.Equal(t, 1, l.Round)
	}
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
