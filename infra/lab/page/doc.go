// Package page draws one run of the lab as an HTML file that needs no other.
//
// It measures nothing and adds no figure that is not in a row.
package page
