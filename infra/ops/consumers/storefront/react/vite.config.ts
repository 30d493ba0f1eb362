import { defineConfig } from "vite";

export default defineConfig(({ isSsrBuild }) => ({
  // The polyfill is for browsers of before 2023, and an inline script.
  build: isSsrBuild ? {} : { modulePreload: { polyfill: false }, rollupOptions: { input: ["index.html", "element.html"] } },
  ssr: { noExternal: ["flashsale-storefront"] },
}));
