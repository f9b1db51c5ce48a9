package docs_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/director/portfolio"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
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
