// Package director is a team that plans a project as tasks on a shared board and works on
// them in git worktrees: a director who plans and decides, workers who do one task each, a
// strategist who reviews, and a guardian who keeps workers on course.
//
// Here are the rules by which it decides; each is a function of values.
package director
