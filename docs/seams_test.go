package docs_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/routing"
)

// rulesOf has the rules of every team, and the defaults of those that say them.
var rulesOf = []struct {
	team     string
	rules    reflect.Type
	defaults any
}{
	{"hierarchy", reflect.TypeFor[hierarchy.Rules](), hierarchy.DefaultRules()},
	{"discussion", reflect.TypeFor[discussion.Rules](), discussion.DefaultRules()},
	{"research", reflect.TypeFor[research.Rules](), research.DefaultRules()},
	{"delivery", reflect.TypeFor[delivery.Rules](), delivery.DefaultRules()},
	{"director", reflect.TypeFor[director.Rules](), director.Rules{}},
	{"portfolio", reflect.TypeFor[portfolio.Rules[int, int]](), portfolio.Rules[int, int]{}},
}

// seamsOf returns the rows "team | field | interface" of a group, with the type of the default
// of each row; "": it is not said.
func seamsOf(team, path string, group reflect.Type, defaults reflect.Value, rows map[string]string) {
	for i := range group.NumField() {
		f := group.Field(i)
		name := strings.ReplaceAll(f.Type.String(), "github.com/convene-go/convene/", "")
		name = strings.NewReplacer("orchestrator/", "", ",", ", ").Replace(name)
		switch row := team + " | `" + path + f.Name + "` | `"; f.Type.Kind() { //nolint:exhaustive // the others are no rules
		case reflect.Struct:
			seamsOf(team, path+f.Name+".", f.Type, defaults.Field(i), rows)
		case reflect.Func:
			rows[row+"func`"] = ""
		case reflect.Interface:
			rows[row+name+"`"] = ""
			if d := defaults.Field(i); !d.IsNil() && !strings.Contains(d.Elem().Type().String(), "[") {
				rows[row+name+"`"] = d.Elem().Type().String()
			}
		}
	}
}

// The page has exactly the rules that Configs have, and their defaults.
func TestSeamsPage(t *testing.T) {
	text, err := os.ReadFile("seams.md")
	require.NoError(t, err)
	written := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+ \\| `Rules[\\w.]+` \\| `[^`]+`) \\| ([^|]+) \\|").FindAllStringSubmatch(string(text), -1) {
		written[row[1]] = strings.Trim(row[2], "`")
	}
	for _, team := range rulesOf {
		rows := map[string]string{}
		seamsOf(team.team, "Rules.", team.rules, reflect.ValueOf(team.defaults), rows)
		assert.NotEmpty(t, rows)
		for row, byDefault := range rows {
			said, ok := written[row]
			assert.True(t, ok, "seams.md lacks the row | %s |", row)
			if byDefault != "" {
				assert.Equal(t, byDefault, said, row)
			}
			delete(written, row)
		}
	}
	assert.Empty(t, written, "rows of seams.md that no Config has")
}

// nilRules are rules that have a type and no value.
var nilRules = []any{
	(*grading.Bands)(nil), (*grading.Reserve)(nil), (*grading.Rounds)(nil), grading.ThresholdFunc(nil), grading.ScorerFunc(nil), grading.RankerFunc(nil),
	routing.AnalyzerFunc(nil), routing.SelectorFunc(nil), routing.SchedulerFunc(nil), orchestrator.RouteBy(nil), orchestrator.RouterFunc(nil),
	orchestrator.RetrierFunc(nil), orchestrator.PermitFunc(nil), discussion.TurnsFunc(nil), research.OptimiserFunc(nil), delivery.AllocatorFunc(nil),
	portfolio.AllocatorFunc(nil), orchestrator.GradeWith[hierarchy.Work, hierarchy.Grade](nil), orchestrator.GradeWith[discussion.Work, []discussion.Evaluation](nil),
	orchestrator.GradeWith[research.Work, research.Grade](nil), orchestrator.GradeWith[delivery.VerifyInput, delivery.Verdict](nil),
	orchestrator.GradeWith[director.ReviewInput, director.Review](nil), orchestrator.GradeWith[director.AssessInput, director.Assessment](nil),
	(*delivery.Ladder)(nil), grading.GateWith[director.Reviewed, director.ReviewOutcome](nil), grading.GateWith[director.Conduct, director.Course](nil),
	grading.GateWith[director.Setbacks, bool](nil), grading.GateWith[grading.Standing, grading.Decision](nil),
}

// refusesNil puts every nil rule that fits into every rule of a Config that New accepts.
func refusesNil[C, I, O any](t *testing.T, cfg C, create func(C) (orchestrator.Flow[I, O], error)) {
	t.Helper()
	_, err := create(cfg)
	require.NoError(t, err)
	var each func(at func(*C) reflect.Value, path string)
	each = func(at func(*C) reflect.Value, path string) {
		for i := range at(&cfg).NumField() {
			field := func(c *C) reflect.Value { return at(c).Field(i) }
			f, name := field(&cfg), path+at(&cfg).Type().Field(i).Name
			if f.Kind() == reflect.Struct {
				each(field, name+".")
			}
			if f.Kind() != reflect.Interface {
				continue
			}
			fit := 0
			for _, rule := range nilRules {
				if reflect.TypeOf(rule).Implements(f.Type()) {
					own := cfg
					field(&own).Set(reflect.ValueOf(rule))
					_, err := create(own)
					require.ErrorContains(t, err, name+": it is a nil ", "%T", rule)
					fit++
				}
			}
			assert.Positive(t, fit, "%s: nilRules has no rule of this type", name)
		}
	}
	each(func(c *C) reflect.Value { return reflect.ValueOf(c).Elem().FieldByName("Rules") }, "Rules.")
}

func TestNilRules(t *testing.T) {
	refusesNil(t, hierarchy.Config{Departments: []hierarchy.Department{hierarchy.NewDepartment("a", "head")}}, hierarchy.New)
	refusesNil(t, discussion.Standard(nil), discussion.New)
	refusesNil(t, research.Config{Workers: []research.Worker{{ID: "w", Category: research.Writing, Critical: true, Produces: []string{"article"}}}}, research.New)
	refusesNil(t, delivery.Config{Agents: delivery.Agents{Planner: "p", Coder: "c", Tester: "t", Supervisor: "s"}}, delivery.New)
	software := director.Software()
	software.Agents = director.Agents{Director: "d", Strategist: "s", Guardian: "g"}
	refusesNil(t, software, director.New)
	work := orchestrator.Flow[int, int]{Name: "work", Do: func(_ *orchestrator.Context, in int) (int, error) { return in, nil }}
	refusesNil(t, portfolio.Config[int, int]{Work: work, Rules: portfolio.Rules[int, int]{Score: func(portfolio.Project, int) *float64 { return nil }}}, portfolio.New)
}
