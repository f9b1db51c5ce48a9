package portfolio_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/providers"
)

var update = flag.Bool("update", false, "write the golden files")

// text is an outcome with a result of its own.
type text struct{ Body string }

func (t text) Result() string { return t.Body }

// sold is the outcome of a run with one project of each kind.
func sold() portfolio.Outcome[text] {
	report := func(id string, stage portfolio.Stage, score float64) portfolio.Report[text] {
		return portfolio.Report[text]{Project: portfolio.Project{ID: id, Stage: stage, Score: &score}, Rounds: 2, Spent: providers.Usage{Cost: providers.Dollars(1.5)}}
	}
	clock, swap, lamp := report("clock", portfolio.Building, 0.9), report("swap", portfolio.Killed, 0.1), report("lamp <b>", portfolio.Idea, 0)
	clock.Last, swap.Last, lamp.Score = &text{"A clock for the tide"}, &text{"A market for <script>seeds</script>"}, nil
	swap.Killed, lamp.Error = "its score of 0.10 is below 0.20", "no plan"
	return portfolio.Outcome[text]{
		Outcome: orchestrator.Outcome{
			Asked: "clock, swap, lamp <b>", Status: orchestrator.Partial, Spent: providers.Usage{Calls: 5, Cost: 3 * providers.USD}, Elapsed: time.Minute, Unverified: []string{"lamp <b>"},
			Warnings: []orchestrator.Warning{{Code: "portfolio/round-failed", Who: "lamp <b>", Message: "no plan"}},
		},
		Projects: []portfolio.Report[text]{swap, clock, lamp},
	}
}

func TestPage(t *testing.T) {
	html, err := portfolio.Page(sold())
	require.NoError(t, err)
	golden := filepath.Join("testdata", "page.html")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(html), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), html, "run with -update if the change is meant")
	for _, want := range []string{"A clock for the tide", "It is the most promising of the projects.", "It was killed: its score of 0.10 is below 0.20.", "no plan", "3.0000 USD"} {
		assert.Contains(t, html, want)
	}
	assert.Equal(t, 1, strings.Count(html, "A clock for the tide"), "the best result is shown once")
	assert.NotContains(t, html, "<script")
	assert.NotContains(t, html, "lamp <b>")
	t.Run("a project without a score is not called promising", func(t *testing.T) {
		o := sold()
		o.Projects = o.Projects[2:]
		o.Projects[0].Last = &text{"A lamp"}
		html, err := portfolio.Page(o)
		require.NoError(t, err)
		assert.Contains(t, html, "A lamp")
		assert.NotContains(t, html, "most promising")
	})
	html, err = portfolio.Page(portfolio.Outcome[text]{})
	require.NoError(t, err)
	assert.Contains(t, html, "No project has a result")
}

func TestResult(t *testing.T) {
	o := sold()
	*o.Projects[0].Score = 1
	assert.Equal(t, "A clock for the tide", o.Result(), "of the best that was not killed")
	assert.Empty(t, portfolio.Outcome[text]{}.Result())
	score := 0.5
	said := portfolio.Outcome[string]{Projects: []portfolio.Report[string]{{Project: portfolio.Project{ID: "a", Score: &score}, Last: new("yes")}}}
	assert.Equal(t, "yes", said.Result())
	costly := portfolio.Outcome[providers.Usage]{Projects: []portfolio.Report[providers.Usage]{{Last: &providers.Usage{Cost: providers.USD}}}}
	assert.JSONEq(t, `{"cost":1}`, costly.Result())
}

// The JSON of an outcome has money in USD and times as texts, and is read back.
func TestOutcomeJSON(t *testing.T) {
	data, err := json.Marshal(sold())
	require.NoError(t, err)
	assert.Contains(t, string(data), `"spent":{"cost":1.5}`)
	assert.Contains(t, string(data), `"elapsed":"1m0s"`)
	var back portfolio.Outcome[text]
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, sold(), back)
	var in portfolio.Input[string]
	require.ErrorContains(t, json.Unmarshal([]byte(`{"projects":[],"limit":1}`), &in), "limit is unknown")
	require.NoError(t, json.Unmarshal([]byte(`{"projects":[{"id":"a","stage":"IDEA","input":"x"}],"limits":{"cost":2.5,"time":"5m"}}`), &in))
	assert.Equal(t, 2500*providers.USD/1000, in.Limits.Cost)
	assert.Equal(t, "x", in.Projects[0].Input)
}
