/** Of a password that is set (completions.md, Auth), by passwordLength. */
export const minPasswordLength = 8
export const maxPasswordLength = 256

/** In characters of NFKC, the form in which passwords are compared. */
export const passwordLength = (password: string): number => [...password.normalize('NFKC')].length
