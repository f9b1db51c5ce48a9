package delivery

import (
	"embed"
	"io/fs"
	"slices"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// The operations that roles are asked for, as Request.Op. The input is a PlanInput,
// CodeInput, TestInput or VerifyInput.
const (
	OpPlan      = "plan"
	OpSubPlan   = "subplan"
	OpCode      = "code"
	OpFix       = "fix"
	OpCheck     = "check"     // the tester: the work on a step
	OpIntegrate = "integrate" // the tester: the whole
	OpVerify    = "verify"
)

// promptData is the data of the templates. The work that agents see is the JSON of
// Request.Input, never part of a prompt.
type promptData struct {
	Op                 string
	Gate               GateKind
	Threshold          float64 // 0 to 100
	MinSteps, MaxSteps int
	Iteration          int
	Rejected, Ran      bool
	Level              Level // of the guidance; "": there is none
	Issues, AbortAt    int
}

// newPrompts reads the templates; those of the host replace those of the package.
func newPrompts(host fs.FS) (prompt.Set, error) {
	samples := map[string][]any{}
	for name, ops := range map[string][]string{
		"plan.tmpl": {OpPlan, OpSubPlan}, "code.tmpl": {OpCode, OpFix}, "test.tmpl": {OpCheck, OpIntegrate}, "guidance.tmpl": {OpPlan},
	} {
		for _, op := range ops {
			for _, level := range slices.Concat([]Level{""}, levels) {
				samples[name] = append(samples[name], promptData{Op: op, Level: level, Iteration: 2, Rejected: true, Ran: true}, promptData{Op: op, Level: level})
			}
		}
	}
	for _, gate := range []GateKind{gatePlan, gateCode, gateTest, gateStep, GateGoal} {
		samples["verify.tmpl"] = append(samples["verify.tmpl"], promptData{Op: OpVerify, Gate: gate})
	}
	return team.Prompts(ownPrompts, host, samples, 0, nil)
}

// guidance is the supervisor's correction for a role.
type guidance struct {
	Level  Level  `json:"level"`
	Text   string `json:"text"`
	Issues int    `json:"issues"` // in a row
	Of     int    `json:"of"`     // at which the run ends; -1: never
}

// PlanInput is what a planner gets.
type PlanInput struct {
	Goal     string            `json:"goal"`
	Context  map[string]string `json:"context,omitempty"`
	TimeLeft string            `json:"timeLeft,omitempty"` // in words; "": no limit
	Rejected *Plan             `json:"rejected,omitempty"`
	Reasons  []string          `json:"reasons,omitempty"` // why it was rejected
	Blocked  *Blocked          `json:"blocked,omitempty"` // of a sub-plan
	Last     *lastIteration    `json:"last,omitempty"`    // from the second iteration on
	Guidance *guidance         `json:"guidance,omitempty"`
}

// Blocked is a step that a sub-plan is for.
type Blocked struct {
	Step     Task     `json:"step"`
	Attempts int      `json:"attempts"`
	Reasons  []string `json:"reasons"`
	Plan     Plan     `json:"plan"` // to which it belongs, without work
	Depth    int      `json:"depth"`
}

// lastIteration is the result of an iteration.
type lastIteration struct {
	Reason    string        `json:"reason"`
	Verdict   *Verdict      `json:"verdict,omitempty"` // nil: it was not judged
	Completed []stepSummary `json:"completed"`
	Failed    []stepSummary `json:"failed"` // or skipped, or not finished
}

// Task is a step as its coder gets it.
type Task struct {
	ID          string `json:"id"`
	Number      int    `json:"number"`
	Description string `json:"description"`
	Complexity  string `json:"complexity"`
}

func (s Step) task() Task { return Task{s.ID, s.Number, s.Description, s.Complexity} }

// CodeInput is what a coder gets.
type CodeInput struct {
	Goal     string            `json:"goal"`
	Context  map[string]string `json:"context,omitempty"`
	TimeLeft string            `json:"timeLeft,omitempty"`
	Step     Task              `json:"step"`
	Needs    []doneStep        `json:"needs,omitempty"`    // steps before it
	Previous *CodeOutput       `json:"previous,omitempty"` // of the attempt before, or what is to be fixed
	Feedback []string          `json:"feedback,omitempty"` // why earlier attempts were not accepted
	Fix      *fixRequest       `json:"fix,omitempty"`
	Guidance *guidance         `json:"guidance,omitempty"`
}

// doneStep is a completed step that another one needs.
type doneStep struct {
	Step Task        `json:"step"`
	Code *CodeOutput `json:"code,omitempty"`
}

// fixRequest says what to fix.
type fixRequest struct {
	Items  []string `json:"items"`            // what to do, in this order
	Output string   `json:"output,omitempty"` // of the tests
}

// TestInput is what a tester gets.
type TestInput struct {
	Goal     string            `json:"goal"`
	Context  map[string]string `json:"context,omitempty"`
	Step     *Task             `json:"step,omitempty"` // nil: the whole
	Code     *CodeOutput       `json:"code,omitempty"`
	Steps    []stepSummary     `json:"steps,omitempty"` // of the whole
	Run      *TestResult       `json:"run,omitempty"`   // of the project's tests
	Guidance *guidance         `json:"guidance,omitempty"`
}

// VerifyInput is what a supervisor gets.
type VerifyInput struct {
	Gate      GateKind          `json:"gate"`
	Threshold float64           `json:"threshold"` // 0 to 100
	Goal      string            `json:"goal"`
	Context   map[string]string `json:"context,omitempty"`
	Plan      *Plan             `json:"plan,omitempty"` // without work
	Step      *Task             `json:"step,omitempty"`
	Code      *CodeOutput       `json:"code,omitempty"`
	Tests     *TestResult       `json:"tests,omitempty"`
	Steps     []stepSummary     `json:"steps"`          // of all plans so far
	Last      []Verdict         `json:"last,omitempty"` // the last five
}

// The answers of roles; a coder's is a CodeOutput.
type (
	planAnswer struct {
		Analysis string       `json:"analysis,omitempty"`
		Steps    []stepAnswer `json:"steps"`
	}
	stepAnswer struct {
		Number      int    `json:"number"`
		Description string `json:"description"`
		Complexity  string `json:"complexity" jsonschema:"simple, medium or complex"`
		DependsOn   []int  `json:"dependsOn,omitempty"`
	}
	reportAnswer struct {
		Passed      bool     `json:"passed"`
		Issues      []Issue  `json:"issues,omitempty"`
		Suggestions []string `json:"suggestions,omitempty"`
		Coverage    *float64 `json:"coverage,omitempty" min:"0" max:"100"`
		FixPlan     *fixPlan `json:"fixPlan,omitempty"`
	}
	verdictAnswer struct {
		Approved       bool     `json:"approved"`
		Score          float64  `json:"score" min:"0" max:"100"`
		Findings       []Issue  `json:"findings,omitempty"`
		Evidence       []string `json:"evidence,omitempty"`
		Progress       string   `json:"progress,omitempty"`
		GoalAlignment  string   `json:"goalAlignment,omitempty"`
		Reason         string   `json:"reason,omitempty"`
		Recommendation string   `json:"recommendation,omitempty"`
	}
)

// shownBytes is how many bytes of code and output later requests quote.
const shownBytes = 64 << 10

// shownCode is code as later requests quote it.
func shownCode(c *CodeOutput) *CodeOutput {
	if c == nil {
		return nil
	}
	out, left := *c, shownBytes
	quote := func(files []File) []File {
		files = slices.Clone(files)
		for i := range files {
			files[i].Content = within(files[i].Content, &left)
		}
		return files
	}
	out.Files, out.Tests, out.Summary = quote(c.Files), quote(c.Tests), text.Cut(c.Summary, shownBytes)
	return &out
}

// within returns as much of s as left allows, and reduces left.
func within(s string, left *int) string {
	if *left <= 0 && s != "" {
		return "[cut]"
	}
	n := len(s)
	s = text.Cut(s, *left)
	*left -= n
	return s
}

// shownReport is a report as later requests quote it.
func shownReport(t *TestResult) *TestResult {
	if t == nil {
		return nil
	}
	out := *t
	out.Output = text.Cut(t.Output, shownBytes)
	return &out
}

// bare is a plan without its work.
func (p Plan) bare() *Plan {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Code, s.Tests, s.Verification = nil, nil, nil
	}
	return &p
}
