# known.awk: prints target/VARIABLE for each variable that a target's recipe takes from whoever starts make,
# also through the Makefile's own variables, or that its line of help gives; and target/ for each target.
function names(text,    name) {
	while (match(text, /\$\$\{?[A-Z][A-Z0-9_]*|\((value |origin )?[A-Z][A-Z0-9_]*\)|[A-Z][A-Z0-9_]*=/)) {
		name = substr(text, RSTART, RLENGTH)
		text = substr(text, RSTART + RLENGTH)
		gsub(/^[({$]*(value |origin )?|[)=]$/, "", name)
		if (!((target, name) in seen)) {
			seen[target, name] = 1
			if (name in own) names(own[name])
			else print target "/" name
		}
	}
}
FNR == 1 { file++ }
/^override [A-Z_]+ :?= / { variable = $2 }
variable != "" { if (file == 1) own[variable] = own[variable] $0; if ($0 !~ /\\$/) variable = ""; next }
file == 1 { next }
/^[a-z-]+:/ { target = $0; sub(/:.*/, "", target); print target "/" }
/^[a-z-]+:|^\t/ { names($0) }
/^$/ { target = "" }
