// Package hierarchy is a team of three tiers: a master routes each request to
// departments, their heads answer it or let specialists work on it, and the results are
// graded, retried with feedback, reviewed and combined into one.
//
// [New] makes a flow of a [Config]. The master retries nothing; every route, threshold,
// score and choice is computed by [Rules], which a host may replace one by one.
// [Department] and [Agent] configure the members, [Outcome] has every finished report,
// also beside an error. [MovieDepartments] is a team to start from,
// [Learn] computes success rates from outcomes, [Route] the route of a request without a run.
//
// # A run
//
// The route names a primary department and those that support it. Departments of
// one wave run in parallel; a wave begins when those before it have ended, and gets
// their results for the departments that depend on them.
//
// A head answers a simple brief itself. For any other it lets specialists work, each
// until an output passes its threshold or its attempts run out, reviews their results,
// and writes one result of those that passed. If no specialist passed, it answers
// itself; if it cannot write the result, the best specialist's output is used, unverified.
//
// A grade that cannot be used is requested once more, then the work has no score and has
// not passed. When money, calls or time are used up, no further call is made, and the
// result is what was finished.
//
// The master returns the departments' outputs by their keys or lets an agent make one of
// them, computes the overall quality, and checks the whole.
//
// # Prompts
//
// Config.Prompts replaces the texts that agents get, templates of package
// text/template:
//
//	brief.tmpl      of a department with dependencies: .Request, .Needs (a []*Report)
//	retry.tmpl      after an attempt: .Request, .Attempt (2 or more), .Previous (""), .Feedback, .Fresh, .Marks (nil)
//	grade.tmpl      to the head: .Department, .Agent, .Request, .Output, .Marks (nil)
//	synthesis.tmpl  to the head: .Department, .Request, .Results (a []SpecialistResult), .Note ("")
//	refine.tmpl     to the head: .Department, .Request, .Draft, .Round, .Total
//	resolve.tmpl    to the head: .Department, .Request, .Results
//	master.tmpl     to Master.Agent: .Request, .Reports (a []Report)
//	check.tmpl      to Master.Consistency: .Reports
//
// A field with ("") may be empty. Marks are nil if they are the usual ones. Fresh tells to
// show nothing of earlier attempts but Feedback. The functions are text, which is [Text] of
// an output; list, which joins words; data, which quotes a text under a name, cut to
// Bounds.QuoteBytes; number, which writes a number; and inc, which adds one.
//
// # Events
//
// A run writes records of the kinds EventRouteDecided and so on, and those of every
// [team.Run]; each has an [Event]. Run.State shows a [State] while it runs.
package hierarchy
