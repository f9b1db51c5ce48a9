package delivery

import (
	"embed"
	"slices"

	"github.com/convene-go/convene/internal/text"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// The operations that roles are asked for, as Request.Op. The input is a PlanInput,
// CodeInput, TestInput or VerifyInput.
const (
	OpPlan      = "plan"
	OpSubPlan   = "subplan"
	OpRevise    = "revise" // the planner: the steps of a plan that have not begun
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
	Gate               string
	Threshold          float64 // 0 to 100
	MinSteps, MaxSteps int
	Iteration          int
	Rejected, Ran      bool
	Revisions          bool  // true: a verdict can name later steps
	Level              Level // level of the guidance; "": there is none
	Issues, AbortAt    int
}

// samples are values for each template.
func samples() map[string][]any {
	samples := map[string][]any{}
	for name, ops := range map[string][]string{
		"plan.tmpl": {OpPlan, OpSubPlan, OpRevise}, "code.tmpl": {OpCode, OpFix}, "test.tmpl": {OpCheck, OpIntegrate}, "guidance.tmpl": {OpPlan},
	} {
		for _, op := range ops {
			for _, level := range slices.Concat([]Level{""}, levels) {
				samples[name] = append(samples[name], promptData{Op: op, Level: level, Iteration: 2, Rejected: true, Ran: true}, promptData{Op: op, Level: level})
			}
		}
	}
	for _, gate := range []string{gatePlan, gateCode, gateTest, gateStep, gateGoal, gateMonitor} {
		samples["verify.tmpl"] = append(samples["verify.tmpl"], promptData{Op: OpVerify, Gate: gate}, promptData{Op: OpVerify, Gate: gate, Revisions: true})
	}
	return samples
}

// guidance is the supervisor's correction for a role.
type guidance struct {
	Level  Level  `json:"level"`  // level of the intervention
	Text   string `json:"text"`   // advice for the next request
	Issues int    `json:"issues"` // number of rejections in a row
	Of     int    `json:"of"`     // number of rejections at which the run ends; -1: not known
}

// PlanInput is what a planner gets.
type PlanInput struct {
	Goal     string            `json:"goal"`               // goal of the plan
	Context  map[string]string `json:"context,omitempty"`  // texts of the Input, by name
	TimeLeft string            `json:"timeLeft,omitempty"` // time left of the run in words; "": no limit
	Rejected *Plan             `json:"rejected,omitempty"` // plan before it, which was rejected; nil: none
	Reasons  []string          `json:"reasons,omitempty"`  // why plans were rejected
	Blocked  *Blocked          `json:"blocked,omitempty"`  // step that a sub-plan is for; nil: a root plan
	Revise   *revision         `json:"revise,omitempty"`   // plan whose rest may change; nil: a new plan
	Last     *lastIteration    `json:"last,omitempty"`     // iteration before; nil: this is the first
	Guidance *guidance         `json:"guidance,omitempty"` // correction of the supervisor; nil: none
}

// Blocked is a step that a sub-plan is for.
type Blocked struct {
	Step     Task       `json:"step"`           // the step
	Attempts int        `json:"attempts"`       // number of attempts at it
	Reasons  []string   `json:"reasons"`        // why they were not accepted
	Done     []doneStep `json:"done,omitempty"` // steps of a sub-plan before that are completed; the workspace has their code
	Plan     Plan       `json:"plan"`           // plan to which it belongs, without work: its 20 steps around this one
	Depth    int        `json:"depth"`          // depth of that plan
}

// lastIteration is the result of an iteration.
type lastIteration struct {
	Reason    string        `json:"reason"`            // why the goal was not reached
	Verdict   *Verdict      `json:"verdict,omitempty"` // verdict on the goal; nil: it was not judged
	Completed []StepSummary `json:"completed"`         // steps that were completed
	Failed    []StepSummary `json:"failed"`            // steps that failed, were skipped or not finished

	gate ruling // ruling on the goal
}

// Task is a step as its coder gets it.
type Task struct {
	ID          string `json:"id"`          // plan and number: p1.s1
	Number      int    `json:"number"`      // number that the planner gave it
	Description string `json:"description"` // task in words
	Complexity  string `json:"complexity"`  // "simple", "medium" or "complex"
}

func (s Step) task() Task { return Task{s.ID, s.Number, s.Description, s.Complexity} }

// CodeInput is what a coder gets.
type CodeInput struct {
	Goal     string            `json:"goal"`               // goal of the run
	Context  map[string]string `json:"context,omitempty"`  // texts of the Input, by name
	TimeLeft string            `json:"timeLeft,omitempty"` // time left of the run in words; "": no limit
	Step     Task              `json:"step"`               // step to do
	Needs    []doneStep        `json:"needs,omitempty"`    // steps that it needs, with their code
	Previous *CodeOutput       `json:"previous,omitempty"` // code of the attempt before, or code that is to be fixed; nil: none
	Feedback []string          `json:"feedback,omitempty"` // why earlier attempts were not accepted
	Fix      *fixRequest       `json:"fix,omitempty"`      // things to fix; nil: the step is done anew
	Guidance *guidance         `json:"guidance,omitempty"` // correction of the supervisor; nil: none
}

// doneStep is a completed step that another one needs.
type doneStep struct {
	Step Task        `json:"step"`           // the step
	Code *CodeOutput `json:"code,omitempty"` // its code; nil: none
}

// fixRequest says what to fix.
type fixRequest struct {
	Items  []string `json:"items"`            // things to do, in this order
	Output string   `json:"output,omitempty"` // output of the tests
}

// TestInput is what a tester gets.
type TestInput struct {
	Goal     string            `json:"goal"`               // goal of the run
	Context  map[string]string `json:"context,omitempty"`  // texts of the Input, by name
	Step     *Task             `json:"step,omitempty"`     // step to test; nil: the whole
	Code     *CodeOutput       `json:"code,omitempty"`     // code of the step
	Steps    []StepSummary     `json:"steps,omitempty"`    // steps of the whole
	Run      *TestResult       `json:"run,omitempty"`      // real run of the tests; nil: there is no project
	Guidance *guidance         `json:"guidance,omitempty"` // correction of the supervisor; nil: none
}

// VerifyInput is what a supervisor gets.
type VerifyInput struct {
	Gate      string            `json:"gate"`                // gate that the work has to pass: "plan", "code", "test", "step" or "goal"; "monitor": none, see Policy.MonitorEvery
	Threshold float64           `json:"threshold"`           // score that passes, 0 to 100; 0: any
	Goal      string            `json:"goal"`                // goal of the run
	Context   map[string]string `json:"context,omitempty"`   // texts of the Input, by name
	Plan      *Plan             `json:"plan,omitempty"`      // plan to judge, without work; nil: none
	Step      *Task             `json:"step,omitempty"`      // step to judge, or whose code or report; nil: none
	Code      *CodeOutput       `json:"code,omitempty"`      // code to judge; nil: none
	Tests     *TestResult       `json:"tests,omitempty"`     // report of tests; nil: none
	Steps     []StepSummary     `json:"steps"`               // steps of the run: the last that have begun, and the next, 20 in all
	StepsLeft int               `json:"stepsLeft,omitempty"` // number of steps of the run that Steps leaves out
	Last      []Verdict         `json:"last,omitempty"`      // last five verdicts
	Changes   []string          `json:"changes,omitempty"`   // words of members since the last verdict; only for Gate "monitor"
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
		FixPlan     *FixPlan `json:"fixPlan,omitempty"`
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
		Revise         []int    `json:"revise,omitempty"`
	}
)

// shownBytes is how many bytes of code and output later requests quote.
const shownBytes = 64 << 10

// shownCode is code as later requests quote it: shownBytes of its files together.
func shownCode(c *CodeOutput) *CodeOutput {
	if c == nil {
		return nil
	}
	out, left := *c, shownBytes
	quote := func(files []File) []File {
		files = slices.Clone(files)
		for i, f := range files {
			if left <= 0 && f.Content != "" {
				files[i].Content = "[cut]"
				continue
			}
			files[i].Content = text.Cut(f.Content, left)
			left -= len(f.Content)
		}
		return files
	}
	out.Files, out.Tests, out.Summary = quote(c.Files), quote(c.Tests), text.Cut(c.Summary, shownBytes)
	return &out
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

// shownSteps is how many steps of a run later requests name, so that a request costs the same
// however long the run is.
const shownSteps = 20

// recent are the last steps of approved plans that have begun, and the next ones of the root
// plan and of those under it: shownSteps of them. left is the number of the others.
func (s State) recent() (list []StepSummary, left int) {
	var begun, next []*Step
	current := map[string]bool{}
	for _, id := range s.PlanStack {
		current[id] = true
	}
	total := 0
	for i := range s.Plans {
		p := &s.Plans[i]
		for j := range p.Steps {
			step := &p.Steps[j]
			switch {
			case !p.Approved:
			case step.Status != stepPending:
				if len(begun) == 2*shownSteps { // no more than the last ones are shown
					begun = append(begun[:0], begun[shownSteps:]...)
				}
				begun = append(begun, step)
				total++
			default:
				if current[p.ID] && len(next) < shownSteps/2 {
					next = append(next, step)
				}
				total++
			}
		}
	}
	begun = begun[max(0, len(begun)+len(next)-shownSteps):]
	list = []StepSummary{}
	for _, step := range slices.Concat(begun, next) {
		list = append(list, step.summary())
	}
	return list, total - len(list)
}

// around is a plan without its work, with shownSteps of its steps around one.
func (p Plan) around(id string) *Plan {
	at := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == id })
	from := max(0, min(at-shownSteps/2, len(p.Steps)-shownSteps))
	p.Steps = p.Steps[from:min(from+shownSteps, len(p.Steps))]
	return p.bare()
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
