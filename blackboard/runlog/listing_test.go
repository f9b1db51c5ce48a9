package runlog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
)

// everything is data that has each field that some listing reads.
const everything = `{"version":3,"owner":"ann","parent":"p","labels":{"team":"red","empty":""},"status":"failed","error":{"message":"no rule","codes":["x"]},"more":1}`

func listed(run string, seq int64, kind, data string) runlog.Record {
	rec := entry(run, seq)
	rec.Kind, rec.Name, rec.Data = kind, "film", []byte(data)
	return rec
}

// TestListingAdd has each kind of record say only its own part of everything.
func TestListingAdd(t *testing.T) {
	before := runlog.Listing{
		Run: "r", Flow: "book", Version: 1, Parent: "q", Labels: map[string]string{"a": "b"}, Owner: "bob",
		Status: runlog.Stuck, Err: "old", Started: day, Changed: day.Add(4 * time.Second), Next: 5,
	}
	for kind, says := range map[string]func(l *runlog.Listing){
		runlog.Started: func(l *runlog.Listing) {
			l.Flow, l.Version, l.Owner, l.Parent = "film", 3, "ann", "p"
			l.Labels = map[string]string{"team": "red", "empty": ""}
		},
		runlog.Resumed:  func(l *runlog.Listing) { l.Owner, l.Status, l.Err = "ann", "", "" },
		runlog.Stuck:    func(l *runlog.Listing) { l.Status, l.Err = runlog.Stuck, "no rule" },
		runlog.Ended:    func(l *runlog.Listing) { l.Status, l.Err, l.Ended = "failed", "no rule", true },
		runlog.Called:   func(*runlog.Listing) {},
		runlog.Canceled: func(*runlog.Listing) {},
		"my own":        func(*runlog.Listing) {},
	} {
		t.Run(kind, func(t *testing.T) {
			got, want := before, before
			require.NoError(t, got.Add(listed("r", 5, kind, everything)))
			want.Changed, want.Next = day.Add(5*time.Second), 6
			says(&want)
			assert.Equal(t, want, got)
		})
	}
}

func TestListingAddFirst(t *testing.T) {
	var l runlog.Listing
	require.NoError(t, l.Add(listed("r", 0, runlog.Started, "")))
	assert.Equal(t, runlog.Listing{Run: "r", Flow: "film", Started: day, Changed: day, Next: 1}, l, "without data the rest is empty")

	l = runlog.Listing{}
	require.NoError(t, l.Add(listed("r", 0, "my own", everything)))
	assert.Equal(t, runlog.Listing{Run: "r", Started: day, Changed: day, Next: 1}, l, "any kind can be first")

	require.NoError(t, l.Add(listed("r", 1, runlog.Started, `{"labels":{}}`)))
	assert.Nil(t, l.Labels, "no labels are nil")
	assert.Equal(t, day, l.Started, "a later record does not move the start")
}

// TestListingAddClears has what a later record of the kind leaves out.
func TestListingAddClears(t *testing.T) {
	var l runlog.Listing
	require.NoError(t, l.Add(listed("r", 0, runlog.Started, everything)))
	require.NoError(t, l.Add(listed("r", 1, runlog.Resumed, `{}`)))
	assert.Empty(t, l.Owner, "nobody has resumed it by name")
	require.NoError(t, l.Add(listed("r", 2, runlog.Stuck, everything)))
	require.NoError(t, l.Add(listed("r", 3, runlog.Ended, `{"status":"completed"}`)))
	assert.Equal(t, "completed", l.Status)
	assert.Empty(t, l.Err, "it was stuck, and did not fail")
	assert.True(t, l.Ended)
}

func TestListingAddKeepsOnError(t *testing.T) {
	l := runlog.Listing{Run: "r", Owner: "ann", Next: 3}
	want := l
	for _, data := range []string{`7`, `{`, `{"owner":1}`} {
		err := l.Add(runlog.Record{Run: "r", Seq: 3, Kind: runlog.Resumed, Data: []byte(data)})
		require.ErrorContains(t, err, `data of record 3 (resumed) of run "r"`)
		assert.Equal(t, want, l)
	}
}

// TestListingAddRefuses has data of listed kinds that is no object of the right types.
// Other kinds may have any data.
func TestListingAddRefuses(t *testing.T) {
	for _, data := range []string{
		`[]`, `"x"`, `7`, `{"owner":"ann"} x`, `{"version":"1"}`, `{"version":1.5}`, `{"owner":1}`, `{"parent":[]}`,
		`{"labels":[]}`, `{"labels":{"a":1}}`, `{"status":1}`, `{"error":"x"}`, `{"error":{"message":1}}`,
	} {
		for _, tt := range kinds {
			l := runlog.Listing{Run: "r", Next: 1}
			err := l.Add(runlog.Record{Run: "r", Seq: 1, Kind: tt.kind, Data: []byte(data)})
			assert.Equal(t, tt.listed, err != nil, "%q with the data %s: %v", tt.kind, data, err)
		}
	}
}

// TestListedIsEnough has a store that adds only the first record and the Listed ones.
// Its listing lacks only Changed and Next of the others.
func TestListedIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, few runlog.Listing
		for seq := range rapid.Int64Range(1, 8).Draw(t, "records") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind").kind
			rec := listed("r", seq, kind, rapid.SampledFrom([]string{"", `{}`, everything}).Draw(t, "data"))
			require.NoError(t, whole.Add(rec))
			if seq == 0 || runlog.Listed(kind) {
				require.NoError(t, few.Add(rec))
			}
		}
		few.Changed, few.Next = whole.Changed, whole.Next
		require.Equal(t, whole, few)
	})
}

// aListing has all that a query asks for.
func aListing() runlog.Listing {
	return runlog.Listing{
		Run: "run-1", Flow: "Film", Parent: "p", Labels: map[string]string{"team": "red", "tier": "a=b", "empty": ""}, Owner: "ann",
		Status: runlog.Stuck, Err: "No RULE 5%", Started: day, Changed: day.Add(time.Minute), Next: 2,
	}
}

func TestQuerySelects(t *testing.T) {
	for _, tt := range []struct {
		q    runlog.Query
		want bool
	}{
		{runlog.Query{}, true},
		{runlog.Query{Open: true}, true},
		{runlog.Query{Run: "run-1"}, true},
		{runlog.Query{Run: "run"}, false},
		{runlog.Query{Flow: "Film"}, true},
		{runlog.Query{Flow: "film"}, false}, // case counts, but for Text
		{runlog.Query{Status: "stuck"}, true},
		{runlog.Query{Status: "failed"}, false},
		{runlog.Query{Owner: "ann"}, true},
		{runlog.Query{Owner: "an"}, false},
		{runlog.Query{Parent: "p"}, true},
		{runlog.Query{Parent: "run-1"}, false},
		{runlog.Query{Before: day.Add(time.Minute)}, false}, // older, not of the same time
		{runlog.Query{Before: day.Add(time.Minute + 1)}, true},
		{runlog.Query{Label: "team"}, true},
		{runlog.Query{Label: "Team"}, false},
		{runlog.Query{Label: "red"}, false},
		{runlog.Query{Label: "team=red"}, true},
		{runlog.Query{Label: "team=re"}, false},
		{runlog.Query{Label: "team="}, false},
		{runlog.Query{Label: "empty="}, true},
		{runlog.Query{Label: "empty"}, true},
		{runlog.Query{Label: "tier=a=b"}, true}, // only the first = parts name and value
		{runlog.Query{Label: "tier=a"}, false},
		{runlog.Query{Label: "="}, false},
		{runlog.Query{Limit: 1, After: "x"}, true}, // they select nothing
		{runlog.Query{Run: "run-1", Owner: "bob"}, false},
		{runlog.Query{Open: true, Run: "run-1", Flow: "Film", Status: "stuck", Owner: "ann", Parent: "p", Label: "team=red", Text: "rule", Before: day.Add(time.Hour)}, true},
	} {
		assert.Equal(t, tt.want, tt.q.Selects(aListing()), "%+v", tt.q)
	}
	ended := aListing()
	ended.Ended = true
	assert.False(t, runlog.Query{Open: true}.Selects(ended))
	assert.True(t, runlog.Query{}.Selects(ended))
	assert.False(t, runlog.Query{Label: "team"}.Selects(runlog.Listing{}), "a run without labels")
}

func TestQuerySelectsText(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "RUN-": true, "film": true, "FILM": true, "no rule": true, "5%": true, "rEd": true, "a=B": true,
		"team": false, "ann": false, "p": false, "stuck": false, "%rule": false, "no.rule": false, "run-1film": false,
	} {
		assert.Equal(t, want, runlog.Query{Text: text}.Selects(aListing()), "%q", text)
	}
	for run, texts := range map[string]map[string]bool{
		"ÄB": {"äb": false, "Äb": true, "b": true}, // only ASCII has its case ignored
		"@[": {"`": false, "{": false, "@[": true}, // neighbors of letters are no letters
		"K":  {"k": true, "\u212a": false},         // KELVIN SIGN folds to k elsewhere
	} {
		for text, want := range texts {
			assert.Equal(t, want, runlog.Query{Text: text}.Selects(runlog.Listing{Run: run}), "%q in %q", text, run)
		}
	}
}

// TestQueryFieldsAreAnded has a query select what each of its fields selects.
func TestQueryFieldsAreAnded(t *testing.T) {
	some := func(name string, t *rapid.T, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		q := runlog.Query{
			Open: rapid.Bool().Draw(t, "open"), Run: some("run", t, "run-1", "r"), Flow: some("flow", t, "Film", "f"),
			Status: some("status", t, "stuck", "x"), Owner: some("owner", t, "ann", "bob"), Parent: some("parent", t, "p", "q"),
			Label: some("label", t, "team", "team=blue"), Text: some("text", t, "film", "zz"),
		}
		l := aListing()
		l.Ended = rapid.Bool().Draw(t, "ended")
		want := true
		for _, one := range []runlog.Query{
			{Open: q.Open}, {Run: q.Run}, {Flow: q.Flow}, {Status: q.Status}, {Owner: q.Owner}, {Parent: q.Parent}, {Label: q.Label}, {Text: q.Text},
		} {
			want = want && one.Selects(l)
		}
		require.Equal(t, want, q.Selects(l), fmt.Sprintf("%+v", q))
	})
}
