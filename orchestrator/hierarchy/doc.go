// Package hierarchy is a team of three tiers: a master routes each request to
// departments, their heads answer it or have specialists work on it, and
// what comes back is graded, tried again with feedback, reviewed and made into one
// result.
//
// [New] makes a flow of a [Config]. The master asks no model to route and tries
// nothing again; every threshold, score and choice is computed. [Department] and
// [Agent] say who works, [Hooks] replace parts of the policy, [Outcome] has every
// report that was finished, also beside an error. [MovieDepartments] is a team to
// start from, [Learn] makes success rates of outcomes.
//
// # A run
//
// The route names a primary department and those that support it. Departments of
// one wave work side by side; a wave begins when those before it have ended, and
// brings their results to the departments that depend on them.
//
// A head answers a simple brief itself. For any other it has specialists work, each
// until an output passes its threshold or its attempts run out, reviews what they
// made, and writes one result of what passed. If no specialist passed, it answers
// itself; if it cannot write the result, the best specialist's output is used.
//
// A grade that does not come is asked for once more, then the work has no score and has
// not passed. When money, calls or time end, no call is made any more, and what was
// finished is the result.
//
// The master puts the departments' outputs side by side or has an agent make one of
// them, computes the overall quality, and has the whole checked.
//
// # Prompts
//
// Config.Prompts replaces the texts that agents get, templates of package
// text/template:
//
//	brief.tmpl      of a department with dependencies: .Request, .Needs (a []Report)
//	retry.tmpl      after an attempt: .Request, .Attempt (2 or more), .Previous (""), .Feedback
//	grade.tmpl      to the head: .Department, .Agent, .Request, .Output
//	synthesis.tmpl  to the head: .Department, .Request, .Results (a []SpecialistResult), .Note ("")
//	refine.tmpl     to the head: .Department, .Request, .Draft, .Round, .Total
//	resolve.tmpl    to the head: .Department, .Request, .Results
//	master.tmpl     to Master.Agent: .Request, .Reports (a []Report)
//	check.tmpl      to Master.Consistency: .Reports
//
// A field with ("") is empty where there is nothing to say. The functions are text,
// which is [Text] of an output; data, which quotes a text under a name, cut to
// Limits.QuoteBytes, so that it cannot end its quotation; number, which writes a
// figure; and inc, which adds one.
//
// # Events
//
// A run writes records of the kinds EventRunStarted and so on; each has an [Event].
// [State] is what Run.State shows meanwhile, by [Phases], [DepartmentPhases] and
// [SpecialistPhases].
package hierarchy
