/** Of a password that is set (completions.md, Auth), by passwordLength. */
export const shortestPassword = 8
export const longestPassword = 256

/** In characters of NFKC, the form in which passwords are compared. */
export const passwordLength = (password: string): number => [...password.normalize('NFKC')].length
