#!/bin/bash
# CSV in LibreOffice Calc and in Gnumeric, opened with what each has preset for a double-click.
#
# One would guess: quotes make a text of a cell; a leading apostrophe makes a text, as when it is typed, and is not shown;
# a number with a decimal point is that number, or a text where the language has a decimal comma.
# It is so:
# - "0042" in quotes is 42 in both, and an id of 18 digits loses its last ones in Calc.
# - '0042 is the text '0042 in Calc, apostrophe included, and the text 0042 in Gnumeric.
# - 89.900 (three digits, as of a Kuwaiti dinar) is 89900 in Calc in German, and 89.9 in Gnumeric in German. 89.9000 is a text in the former.
#
# Debian 12: libreoffice-calc 4:7.4.7-1+deb12u14 and gnumeric 1.12.55-1, which are installed if this is root's shell and they are missing.
# Calc's preset separators are comma, semicolon and tab, and it evaluates no formula (CSVImport in its registry): the last argument
# of the filter below says the same.
set -euo pipefail

if ! command -v soffice >/dev/null || ! command -v ssconvert >/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends libreoffice-calc='4:7.4.7-*' gnumeric='1.12.55-*' >/dev/null
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '%s\n' id,code,apostrophe,three,four '"523415642750058497","0042","'\''0042",89.900,89.9000' >list.csv
[ -d /usr/lib/locale/de_DE.utf8 ] || localedef -i de_DE -f UTF-8 ./de_DE.UTF-8
export LOCPATH=$folder:/usr/lib/locale

# calc LANGUAGE: the second line as Calc writes it again, each text in quotes.
calc() {
	soffice "-env:UserInstallation=file://$folder/profile" --headless \
		--infilter="Text - txt - csv (StarCalc):44/59/9,34,UTF8,1,,$1,false,false,false,false,false,0,false,false,false" \
		--convert-to 'csv:Text - txt - csv (StarCalc):44,34,UTF8,1,,1033,true,false' --outdir again list.csv >/dev/null 2>&1
	sed -n 2p again/list.csv
}
# gnumeric LOCALE: the kinds (60 is a text, 40 a number) and values of the second line.
gnumeric() {
	LC_ALL=$1 ssconvert list.csv list.xml -T Gnumeric_XmlIO:sax >/dev/null 2>&1
	{ gunzip -c list.xml 2>/dev/null || cat list.xml; } | sed -n 's/.*Cell Row="1".*ValueType="\([0-9]*\)"[^>]*>\([^<]*\)<.*/\1:\2/p' | tr '\n' ' '
}

soffice --version
ssconvert --version 2>&1 | head -1
got="Calc, English: $(calc 1033)
Calc, German: $(calc 1031)
Gnumeric, English: $(gnumeric C.UTF-8)
Gnumeric, German: $(gnumeric de_DE.UTF-8)"
echo "$got"
want=("Calc, English: 5.23415642750059E+017,42,\"'0042\",89.9,89.9" "Calc, German: 5.23415642750059E+017,42,\"'0042\",89900,\"89.9000\"" '60:0042 40:89.9' 'German: 40:523415642750058497 40:42 60:0042 40:89.9')
for line in "${want[@]}"; do
	if ! grep -qF -- "$line" <<<"$got"; then
		echo "changed: no \"$line\"" >&2
		exit 1
	fi
done
