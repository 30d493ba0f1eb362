export const words = { loading: "Loading …" };
