/** Plain JSON, the only kind of data that crosses disk or wire. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
