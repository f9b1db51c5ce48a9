// Package arch holds no code: its tests are the laws of the repository that no
// linter knows. They say which modules the root may require, who may import whom,
// and a few things that no file may hold.
package arch
