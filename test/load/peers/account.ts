/** The account in the token of the peers. */
export const peerAccount = '01990000-0000-7000-8000-0000000000cc'
