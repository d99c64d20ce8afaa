/*
 * policies.h
 *	  The policies that are built into the server.
 *
 * Takes the place of the core's file of this name.
 */
#ifndef TIDEPOOL_POLICIES_H
#define TIDEPOOL_POLICIES_H

#define TP_ALL_POLICIES(X)

#endif							/* TIDEPOOL_POLICIES_H */
