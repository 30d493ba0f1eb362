import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { render } from "./dist/server/render.js";

for (const [page, view] of [["index"], ["element", "element"]]) {
  const path = `dist/${page}.html`;
  writeFileSync(path, readFileSync(path, "utf8").replace('<div id="root">', () => '<div id="root">' + render(view)));
}
rmSync("dist/server", { recursive: true });
