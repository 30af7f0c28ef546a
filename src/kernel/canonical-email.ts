/** The form in which addresses are compared: one account and one counter, however case and width are typed. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()
