// Package assets embeds the files of the buyer's page.
//
// How they refer to each other, and to signin.js, is told in package webpage.
//
// During a deployment a page may get files of the release before or after its own. So what a
// script imports from another, or looks for in the page, is there one version before that
// script, and stays for one version after the last script that needs it.
package assets

import "embed"

// Files are page.html and the files that it refers to.
//
//go:embed *.html *.js *.css *.svg
var Files embed.FS
